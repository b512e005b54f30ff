/* SPDX-License-Identifier: MIT */
/* What a link over TLS costs on this machine: link_bench CERTIFICATE KEY [plain]
 *
 * Two workers with a TCP connection between them, one as the gateway, one as the agent, which
 * echoes or sends. Prints the time of a round trip, alone and beside a thousand idle and a hundred
 * stalled channels, the throughput of one channel, and the memory of an idle one. */
#include "base/limits.h"
#include "base/must.h"
#include "io/clock.h"
#include "io/socket_stream.h"
#include "io/tls_stream.h"
#include "io/worker.h"
#include "tunnel/channel.h"
#include "tunnel/link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BENCH_ROUNDS 20000
#define BENCH_BULK   LIMIT_MIB(4096)
#define BENCH_IDLE   1000
#define BENCH_STALL  100
#define BENCH_SIZE   100 /* of a question and of an answer */

enum bench_step {
    BENCH_ALONE,
    BENCH_OPENS_IDLE,
    BENCH_BESIDE_IDLE,
    BENCH_OPENS_STALLED,
    BENCH_BESIDE_STALLED,
    BENCH_DOWN,
};

/* One end; the agent's has the same for each of its channels. */
struct side {
    struct worker *worker;
    struct link *link;
    struct stream *stream;
    char *scratch;
};

struct bench {
    struct side gateway;
    struct side agent;
    enum bench_step step;
    size_t opened_count;
    size_t wanted_count;
    struct stream *echo;
    struct stream *others[BENCH_IDLE + BENCH_STALL];
    size_t other_count;
    int64_t times[BENCH_ROUNDS];
    size_t round;
    int64_t began_us;
    uint64_t received;
    double used_s; /* of processors, before */
    char *bytes;
    struct mallinfo2 before;
};

static void bench_next(struct bench *bench);

/* The agent's end ------------------------------------------------------------------------------ */

/* What a channel of the agent does: echo what comes, or send without end. */
struct served {
    struct stream *stream;
    struct bench *bench;
    bool sends;
    char bytes[BENCH_SIZE];
    size_t unsent;
};

static void served_echo(struct served *served)
{
    struct slice part = slice_of(served->bytes, served->unsent);
    size_t len = 0;
    bool is_out = stream_write(served->stream, &part, 1, &len) == ERR_NONE;
    must(!is_out || len == part.len);
    served->unsent = is_out ? 0 : served->unsent;
    stream_watch(served->stream, is_out ? STREAM_READABLE : STREAM_WRITABLE);
}

static void served_on_event(void *owner, unsigned events)
{
    struct served *served = owner;
    size_t len = 0;
    if (served->unsent > 0) {
        served_echo(served);
        return;
    }
    while (served->sends && (events & STREAM_WRITABLE) != 0) {
        struct slice part = slice_of(served->bench->bytes, LIMIT_KIB(256));
        if (stream_write(served->stream, &part, 1, &len) != ERR_NONE) {
            break;
        }
    }
    if ((events & STREAM_READABLE) == 0) {
        return;
    }
    enum err err = stream_read(served->stream, served->bytes, sizeof(served->bytes), &len);
    if (err == ERR_NONE && !served->sends) {
        served->unsent = len;
        served_echo(served);
    } else if (err != ERR_AGAIN && err != ERR_NONE) {
        stream_close(served->stream);
        memory_free(served);
    }
}

static void agent_on_asked(void *owner, struct channel *channel, struct slice kind,
                           struct slice message)
{
    struct served *served = memory_new(sizeof(*served));
    served->bench = owner;
    served->sends = slice_equals(kind, SLICE("/send"));
    served->stream = channel_accept(channel, message);
    stream_own(served->stream, served_on_event, served);
    stream_watch(served->stream, STREAM_READABLE | (served->sends ? STREAM_WRITABLE : 0));
}

static void agent_on_ended(void *owner, const struct error *error)
{
    struct bench *bench = owner;
    (void)error;
    worker_stop(bench->agent.worker);
}

/* The gateway's end ---------------------------------------------------------------------------- */

static int bench_compare(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;
    return (*left > *right) - (*left < *right);
}

static void bench_print_times(struct bench *bench, const char *name)
{
    int64_t sum = 0;
    for (size_t i = 0; i < BENCH_ROUNDS; i++) {
        sum += bench->times[i];
    }
    qsort(bench->times, BENCH_ROUNDS, sizeof(bench->times[0]), bench_compare);
    (void)printf("%-28s mean %5.1f  p50 %4" PRId64 "  p99 %4" PRId64 " us\n", name,
                 (double)sum / BENCH_ROUNDS, bench->times[BENCH_ROUNDS / 2],
                 bench->times[BENCH_ROUNDS / 100 * 99]);
    (void)fflush(stdout);
}

static void bench_ask(struct bench *bench)
{
    struct slice part = slice_of(bench->bytes, BENCH_SIZE);
    size_t len = 0;
    bench->began_us = clock_monotonic();
    must(stream_write(bench->echo, &part, 1, &len) == ERR_NONE && len == part.len);
}

static void bench_on_answer(void *owner, unsigned events)
{
    struct bench *bench = owner;
    char bytes[BENCH_SIZE];
    size_t len = 0;
    (void)events;
    if (stream_read(bench->echo, bytes, sizeof(bytes), &len) != ERR_NONE) {
        return;
    }
    must(len == BENCH_SIZE);
    bench->times[bench->round++] = clock_monotonic() - bench->began_us;
    if (bench->round < BENCH_ROUNDS) {
        bench_ask(bench);
    } else {
        bench_next(bench);
    }
}

static void bench_rounds(struct bench *bench)
{
    bench->round = 0;
    bench_ask(bench);
}

static double bench_seconds(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
}

static void bench_on_bulk(void *owner, unsigned events)
{
    struct bench *bench = owner;
    size_t len = 0;
    (void)events;
    while (stream_read(bench->echo, bench->gateway.scratch, LIMIT_READ_SIZE, &len) == ERR_NONE) {
        bench->received += len;
    }
    if (bench->received >= BENCH_BULK) {
        double seconds = (double)(clock_monotonic() - bench->began_us) / 1e6;
        (void)printf("%-28s %.0f MB/s\n", "one channel, downwards",
                     (double)bench->received / 1e6 / seconds);
        struct rusage used = {0};
        (void)getrusage(RUSAGE_SELF, &used);
        (void)printf("%-28s %.2f s of processor a GB, both ends\n", "",
                     (bench_seconds(&used) - bench->used_s) / ((double)bench->received / 1e9));
        stream_close(bench->echo);
        link_close(bench->gateway.link);
        worker_stop(bench->gateway.worker);
    }
}

static void bench_on_opened(void *owner, struct stream *take_stream, struct slice message,
                            const struct error *error)
{
    struct bench *bench = owner;
    (void)message;
    must(error == NULL);
    if (bench->step == BENCH_OPENS_IDLE || bench->step == BENCH_OPENS_STALLED) {
        bench->others[bench->other_count++] = take_stream; /* nobody reads it */
    } else {
        bench->echo = take_stream;
        bool is_bulk = bench->step == BENCH_DOWN;
        stream_own(take_stream, is_bulk ? bench_on_bulk : bench_on_answer, bench);
        stream_watch(take_stream, STREAM_READABLE);
    }
    if (++bench->opened_count == bench->wanted_count) {
        bench_next(bench);
    }
}

static void bench_open(struct bench *bench, struct slice kind, size_t count)
{
    const struct channel_request request = {.kind = kind, .message = SLICE_INIT("{}")};
    bench->wanted_count = bench->opened_count + count;
    for (size_t i = 0; i < count; i++) {
        (void)link_open(bench->gateway.link, &request, bench_on_opened, bench);
    }
}

/* Both ends are in this process. */
static void bench_print_memory(struct bench *bench)
{
    struct mallinfo2 after = mallinfo2();
    (void)printf("%-28s %zu bytes, both ends\n", "an idle channel",
                 (after.uordblks - bench->before.uordblks) / BENCH_IDLE);
}

/* What comes after what has just ended. */
static void bench_next(struct bench *bench)
{
    struct rusage used = {0};
    switch (bench->step) {
    case BENCH_ALONE:
        if (bench->round == 0) {
            bench_rounds(bench);
            return;
        }
        bench_print_times(bench, "alone");
        bench->before = mallinfo2();
        bench->step = BENCH_OPENS_IDLE;
        bench_open(bench, SLICE("/echo"), BENCH_IDLE);
        return;
    case BENCH_OPENS_IDLE:
        bench_print_memory(bench);
        bench->step = BENCH_BESIDE_IDLE;
        bench_rounds(bench);
        return;
    case BENCH_BESIDE_IDLE:
        bench_print_times(bench, "beside 1000 idle");
        bench->step = BENCH_OPENS_STALLED;
        bench_open(bench, SLICE("/send"), BENCH_STALL);
        return;
    case BENCH_OPENS_STALLED:
        bench->step = BENCH_BESIDE_STALLED;
        bench_rounds(bench);
        return;
    case BENCH_BESIDE_STALLED:
        bench_print_times(bench, "beside 100 stalled");
        for (size_t i = 0; i < bench->other_count; i++) {
            stream_close(bench->others[i]);
        }
        stream_close(bench->echo);
        bench->step = BENCH_DOWN;
        (void)getrusage(RUSAGE_SELF, &used);
        bench->used_s = bench_seconds(&used);
        bench->began_us = clock_monotonic();
        bench_open(bench, SLICE("/send"), 1);
        return;
    case BENCH_DOWN:
        return;
    }
}

static void gateway_on_ended(void *owner, const struct error *error)
{
    (void)owner;
    (void)fprintf(stderr, "the link ended: %s\n", error->message);
    _exit(1);
}

/* The connection ------------------------------------------------------------------------------- */

static int bench_listen(struct sockaddr_in *address)
{
    socklen_t size = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(fd, (struct sockaddr *)address, size) == 0 && listen(fd, 1) == 0);
    must(getsockname(fd, (struct sockaddr *)address, &size) == 0);
    return fd;
}

static struct stream *bench_stream(struct side *side, int fd)
{
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return socket_stream_new(worker_loop(side->worker), fd);
}

static void bench_connect(struct bench *bench, char **arguments, bool is_plain)
{
    struct sockaddr_in address;
    int listening = bench_listen(&address);
    int dialled = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(dialled, (struct sockaddr *)&address, sizeof(address)) == 0);
    int accepted = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
    must(accepted >= 0 && fcntl(dialled, F_SETFL, O_NONBLOCK) == 0);
    (void)close(listening);
    bench->gateway.stream = bench_stream(&bench->gateway, accepted);
    bench->agent.stream = bench_stream(&bench->agent, dialled);
    if (is_plain) {
        return;
    }
    struct tls_server *server = NULL;
    struct tls_client *client = NULL;
    const struct tls_client_settings settings = {.verify = TLS_VERIFY_NONE};
    must(tls_server_new(arguments[1], arguments[2], SLICE_NONE, &server, NULL) == ERR_NONE);
    must(tls_client_new(&settings, &client, NULL) == ERR_NONE);
    must(tls_stream_new(server, bench->gateway.stream, &bench->gateway.stream) == ERR_NONE);
    must(tls_stream_new_client(client, SLICE("localhost"), bench->agent.stream,
                               &bench->agent.stream, NULL) == ERR_NONE);
    tls_server_unref(server);
    tls_client_unref(client);
}

static struct link *bench_link(struct bench *bench, struct side *side, enum link_end end)
{
    side->scratch = memory_new(LIMIT_READ_SIZE);
    return link_new(&(struct link_settings){
        .end = end,
        .take_stream = side->stream,
        .deadlines = LINK_DEADLINES,
        .scratch = side->scratch,
        .on_asked = agent_on_asked,
        .on_ended = end == LINK_AGENT ? agent_on_ended : gateway_on_ended,
        .owner = bench,
    });
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fprintf(stderr, "link_bench CERTIFICATE KEY [plain]\n");
        return 2;
    }
    struct bench *bench = memory_new(sizeof(*bench));
    bench->bytes = memory_new(LIMIT_KIB(256));
    bench->gateway.worker = worker_new(0, NULL);
    bench->agent.worker = worker_new(1, NULL);
    bench_connect(bench, argv, argc > 3);
    bench->gateway.link = bench_link(bench, &bench->gateway, LINK_GATEWAY);
    bench->agent.link = bench_link(bench, &bench->agent, LINK_AGENT);
    bench_open(bench, SLICE("/echo"), 1);
    must(worker_start(bench->gateway.worker) == ERR_NONE);
    must(worker_start(bench->agent.worker) == ERR_NONE);
    worker_join(bench->gateway.worker);
    worker_free(bench->gateway.worker);
    worker_join(bench->agent.worker);
    worker_free(bench->agent.worker);
    memory_free(bench->gateway.scratch);
    memory_free(bench->agent.scratch);
    memory_free(bench->bytes);
    memory_free(bench);
    return 0;
}

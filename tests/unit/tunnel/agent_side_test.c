/* SPDX-License-Identifier: MIT */
/* The agent's side at a gateway that the test plays: it listens, reads what is asked for, answers,
 * and has its end of each link. */
#include "tunnel/agent_side.h"

#include "io/socket_stream.h"
#include "link_help.h"
#include "tunnel/hello.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX 8
#define NODE      "node-1"
#define ANSWER                                                                                     \
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"                                  \
    "Upgrade: " HELLO_PROTOCOL "\r\n\r\n"

struct scene;

/* The gateway's end of a link. */
struct end {
    struct scene *scene;
    struct link *link; /* NULL: it is over */
    struct channel *hello;
    unsigned answer_count;
    struct buf answer; /* to the hello */
    enum err err;
    bool keeps; /* the channel that it is given */
    struct stream *kept;
    char number; /* that the agent has given to it */
};

struct scene {
    struct worker *worker;
    struct loop *loop;
    struct resolver *resolver;
    struct agent_side *side;
    int listening;
    char url[64];
    char *scratch;
    struct end ends[LINKS_MAX];
    size_t end_count;
    unsigned served_count;
    unsigned drained_count;
    struct stream *served; /* the agent's end of a channel that was accepted */
};

static void serve(const struct agent_kind *kind, const struct agent_place *place,
                  struct channel *take_channel, struct slice message)
{
    struct scene *scene = place->context;
    assert_true(kind->is_cancel == slice_equals(kind->name, SLICE("/other")));
    assert_bytes(message, "please");
    scene->served_count++;
    scene->served = channel_accept(take_channel, SLICE("here"));
}

static const struct agent_kind kinds[] = {
    {.name = SLICE_INIT("/known"), .serve = serve},
    {.name = SLICE_INIT("/other"), .serve = serve, .is_cancel = true}};

static void begin(struct scene *scene)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    (void)signal(SIGPIPE, SIG_IGN);
    *scene = (struct scene){.worker = worker_new(0, NULL), .resolver = resolver_new(NULL)};
    scene->loop = worker_loop(scene->worker);
    scene->scratch = memory_new(LIMIT_READ_SIZE);
    scene->listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(scene->listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(scene->listening, 8), 0);
    assert_int_equal(getsockname(scene->listening, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(scene->url, sizeof(scene->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
    const struct agent_side_settings settings = {
        .place = {.worker = scene->worker, .resolver = scene->resolver, .context = scene},
        .kinds = kinds,
        .kind_count = COUNT_OF(kinds),
        .version = "1.2.3",
        .gateway_url = slice_of_text(scene->url),
        .name = SLICE("far"),
        .secret = SLICE("a-secret"),
        .machine = {.hostname = SLICE("box")},
        .deadlines = LINK_DEADLINES,
        .pauses = {.least_ms = 100, .most_ms = 400},
    };
    scene->side = agent_side_new(&settings);
}

static bool turn(struct scene *scene)
{
    loop_turn(scene->loop);
    (void)poll(NULL, 0, 1);
    return true;
}

#define AWAIT(scene, condition)                                                                    \
    do {                                                                                           \
        for (unsigned turns = 0; turns < 10000 && !(condition) && turn(scene); turns++) {          \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

static void on_drained(void *owner)
{
    struct scene *scene = owner;
    scene->drained_count++;
}

static void finish(struct scene *scene)
{
    if (scene->served != NULL) {
        stream_close(scene->served);
    }
    if (scene->drained_count == 0) {
        agent_side_drain(scene->side, 0, on_drained, scene);
        AWAIT(scene, scene->drained_count == 1);
    }
    for (size_t i = 0; i < scene->end_count; i++) {
        if (scene->ends[i].kept != NULL) {
            stream_close(scene->ends[i].kept);
        }
        if (scene->ends[i].link != NULL) {
            link_close(scene->ends[i].link);
        }
        buf_release(&scene->ends[i].answer);
    }
    (void)close(scene->listening);
    for (unsigned i = 0; i < 5; i++) {
        (void)turn(scene);
    }
    agent_side_free(scene->side);
    worker_free(scene->worker);
    resolver_free(scene->resolver);
    memory_free(scene->scratch);
}

static bool is_dialled(const struct scene *scene)
{
    struct pollfd wanted = {.fd = scene->listening, .events = POLLIN};
    return poll(&wanted, 1, 0) == 1;
}

/* What the agent says when it dials; the answer is the caller's. */
static int hear(struct scene *scene, char *text, size_t size)
{
    size_t len = 0;
    AWAIT(scene, is_dialled(scene));
    int fd = accept4(scene->listening, NULL, NULL, SOCK_NONBLOCK);
    assert_true(fd >= 0);
    memset(text, 0, size);
    for (unsigned i = 0; i < 10000 && strstr(text, "\r\n\r\n") == NULL && turn(scene); i++) {
        ssize_t got = read(fd, text + len, size - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    assert_non_null(strstr(text, "\r\n\r\n"));
    return fd;
}

static void on_ended(void *owner, const struct error *error)
{
    struct end *end = owner;
    (void)error;
    end->link = NULL;
}

static void on_hello(void *owner, struct stream *take_stream, struct slice message,
                     const struct error *error)
{
    struct end *end = owner;
    end->hello = NULL;
    end->answer_count++;
    end->err = error == NULL ? ERR_NONE : error->code;
    buf_clear(&end->answer);
    assert_int_equal(buf_append(&end->answer, message), ERR_NONE);
    if (end->keeps) {
        end->kept = take_stream;
    } else if (take_stream != NULL) {
        stream_close(take_stream);
    }
}

static void greet(struct end *end, const char *node_id, int64_t links)
{
    const struct hello_node node = {.id = slice_of_text(node_id),
                                    .url = slice_of_text(end->scene->url)};
    const struct hello_gateway hello = {
        .protocol = HELLO_VERSION,
        .version = SLICE("9"),
        .node_id = node.id,
        .agent_name = SLICE("far"),
        .links = links,
        .nodes = &node,
        .node_count = 1,
    };
    struct buf buf;
    unsigned count = end->answer_count;
    buf_init(&buf, LIMIT_TUNNEL_MESSAGE_SIZE);
    assert_int_equal(hello_gateway_write(&hello, &buf), ERR_NONE);
    end->hello = link_open(
        end->link, &(struct channel_request){.kind = SLICE(HELLO_KIND), .message = buf_view(&buf)},
        on_hello, end);
    buf_release(&buf);
    AWAIT(end->scene, end->answer_count > count);
}

/* The next link that the agent makes, before anything was said on it. */
static struct end *take_link(struct scene *scene)
{
    char text[1024];
    int fd = hear(scene, text, sizeof(text));
    struct end *end = &scene->ends[scene->end_count++];
    const char *number = strstr(text, "\r\nGatehouse-Link: ");
    assert_true(scene->end_count <= LINKS_MAX && number != NULL);
    assert_int_equal(write(fd, ANSWER, strlen(ANSWER)), strlen(ANSWER));
    *end = (struct end){.scene = scene, .number = number[strlen("\r\nGatehouse-Link: ")]};
    buf_init(&end->answer, LIMIT_TUNNEL_MESSAGE_SIZE);
    end->link = link_new(&(struct link_settings){
        .end = LINK_GATEWAY,
        .take_stream = socket_stream_new(scene->loop, fd),
        .deadlines = LINK_DEADLINES,
        .scratch = scene->scratch,
        .on_ended = on_ended,
        .owner = end,
    });
    return end;
}

/* The tests ------------------------------------------------------------------------------------ */

static void plain_urls_are_for_this_machine(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool allows_plain;
        enum err err;
    } cases[] = {
        {"https://gateway.example", false, ERR_NONE},
        {"http://127.0.0.1:8009", false, ERR_NONE},
        {"http://127.3.2.1", false, ERR_NONE},
        {"http://[::1]:8009", false, ERR_NONE},
        {"http://LocalHost", false, ERR_NONE},
        {"http://gateway.example", false, ERR_DENIED},
        {"http://localhost.example", false, ERR_DENIED},
        {"http://127.evil.example", false, ERR_DENIED},
        {"http://127.0.0.1.evil.example", false, ERR_DENIED},
        {"http://10.0.0.1", false, ERR_DENIED},
        {"http://gateway.example", true, ERR_NONE},
        {"ftp://127.0.0.1", true, ERR_INPUT},
        {"gateway.example", true, ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(
            agent_side_check_url(slice_of_text(cases[i].url), cases[i].allows_plain, NULL),
            cases[i].err);
    }
}

static void it_says_who_it_is_and_what_it_can(void **state)
{
    (void)state;
    struct scene scene;
    char text[1024];
    begin(&scene);
    int fd = hear(&scene, text, sizeof(text));
    assert_ptr_equal(strstr(text, "GET " HELLO_PATH " HTTP/1.1\r\n"), text);
    assert_non_null(strstr(text, "\r\nAuthorization: Bearer a-secret\r\n"));
    assert_non_null(strstr(text, "\r\nGatehouse-Agent: far\r\n"));
    assert_non_null(strstr(text, "\r\nGatehouse-Link: 0\r\n"));
    assert_int_equal(close(fd), 0); /* so it comes again */
    struct end *end = take_link(&scene);
    greet(end, NODE, 1);
    struct hello_agent hello = {0};
    struct arena arena;
    arena_init(&arena);
    assert_int_equal(end->err, ERR_NONE);
    assert_int_equal(hello_agent_read_in(&arena, buf_view(&end->answer), &hello, NULL), ERR_NONE);
    assert_bytes(hello.version, "1.2.3");
    assert_bytes(hello.machine.hostname, "box");
    assert_int_equal(hello.kind_count, 2);
    assert_bytes(hello.kinds[0], "/known");
    assert_bytes(hello.kinds[1], "/other");
    arena_release(&arena);
    finish(&scene);
}

static void it_makes_as_many_links_as_are_wanted(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    greet(take_link(&scene), NODE, 3);
    const struct end *second = take_link(&scene);
    const struct end *third = take_link(&scene);
    assert_int_equal(scene.ends[0].number, '0');
    assert_int_equal(second->number + third->number, '1' + '2');
    greet(&scene.ends[1], NODE, 3);
    greet(&scene.ends[2], NODE, 3);
    for (unsigned i = 0; i < 50; i++) {
        (void)turn(&scene);
    }
    assert_false(is_dialled(&scene));
    greet(&scene.ends[0], NODE, 1); /* it learns later, too, and goes back to one */
    AWAIT(&scene, scene.ends[1].link == NULL && scene.ends[2].link == NULL);
    assert_non_null(scene.ends[0].link);
    finish(&scene);
}

static void a_link_to_another_node_is_given_up(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    greet(take_link(&scene), NODE, 2);
    struct end *other = take_link(&scene);
    greet(other, "node-2", 2);
    assert_int_not_equal(other->err, ERR_NONE);
    AWAIT(&scene, other->link == NULL);
    assert_non_null(scene.ends[0].link);
    finish(&scene);
}

static void kinds_are_served_by_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        enum err err;
        unsigned served;
    } cases[] = {{"/known", ERR_NONE, 1}, {"/unknown", ERR_UNSUPPORTED, 1}};
    struct scene scene;
    begin(&scene);
    struct end *end = take_link(&scene);
    greet(end, NODE, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        unsigned count = end->answer_count;
        end->hello = link_open(end->link,
                               &(struct channel_request){.kind = slice_of_text(cases[i].kind),
                                                         .message = SLICE("please")},
                               on_hello, end);
        AWAIT(&scene, end->answer_count > count);
        assert_int_equal(end->err, cases[i].err);
        assert_int_equal(scene.served_count, cases[i].served);
        assert_true(cases[i].err != ERR_NONE ||
                    slice_equals(buf_view(&end->answer), SLICE("here")));
    }
    finish(&scene);
}

static void what_ends_is_dialled_again_after_a_pause(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    greet(take_link(&scene), NODE, 1);
    uint64_t cut_ms = loop_now_ms(scene.loop);
    link_close(scene.ends[0].link);
    scene.ends[0].link = NULL;
    greet(take_link(&scene), NODE, 1);
    assert_true(loop_now_ms(scene.loop) - cut_ms >= 50);
    assert_int_equal(scene.ends[1].err, ERR_NONE);
    finish(&scene);
}

/* Each time a little later, and never much later than it was told. */
static void who_is_refused_asks_again_ever_more_slowly(void **state)
{
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 401 Unauthorized\r\n\r\n", "no HTTP at all\r\n",
                                          "HTTP/1.1 101 Switching Protocols\r\n\r\n"};
    struct scene scene;
    char text[1024];
    begin(&scene);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        int fd = hear(&scene, text, sizeof(text));
        uint64_t said_ms = loop_now_ms(scene.loop);
        assert_int_equal(write(fd, answers[i], strlen(answers[i])), strlen(answers[i]));
        AWAIT(&scene, is_dialled(&scene));
        assert_true(loop_now_ms(scene.loop) - said_ms >= 50U << (i > 1 ? 1 : i));
        assert_int_equal(close(fd), 0);
    }
    greet(take_link(&scene), NODE, 1);
    assert_int_equal(scene.ends[0].err, ERR_NONE);
    finish(&scene);
}

static void a_drain_waits_for_channels_and_dials_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct scene scene;
        bool is_cut = i == 1;
        begin(&scene);
        struct end *end = take_link(&scene);
        greet(end, NODE, 1);
        end->keeps = true;
        const struct channel_request request = {.kind = SLICE("/known"),
                                                .message = SLICE("please")};
        end->hello = link_open(end->link, &request, on_hello, end);
        AWAIT(&scene, scene.served != NULL && end->kept != NULL);
        agent_side_drain(scene.side, is_cut ? 200 : 1000000, on_drained, &scene);
        for (unsigned turns = 0; turns < 50; turns++) {
            (void)turn(&scene);
        }
        assert_int_equal(scene.drained_count, 0);
        if (!is_cut) {
            stream_close(scene.served);
            scene.served = NULL;
        }
        AWAIT(&scene, scene.drained_count == 1);
        for (unsigned turns = 0; turns < 300; turns++) {
            (void)turn(&scene);
        }
        assert_false(is_dialled(&scene));
        finish(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_urls_are_for_this_machine),
        cmocka_unit_test(it_says_who_it_is_and_what_it_can),
        cmocka_unit_test(it_makes_as_many_links_as_are_wanted),
        cmocka_unit_test(a_link_to_another_node_is_given_up),
        cmocka_unit_test(kinds_are_served_by_the_table),
        cmocka_unit_test(what_ends_is_dialled_again_after_a_pause),
        cmocka_unit_test(who_is_refused_asks_again_ever_more_slowly),
        cmocka_unit_test(a_drain_waits_for_channels_and_dials_nothing),
    };
    return cmocka_run_group_tests_name("tunnel/agent_side", tests, NULL, NULL);
}

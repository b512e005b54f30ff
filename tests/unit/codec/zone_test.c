/* SPDX-License-Identifier: MIT */
#include "codec/zone.h"

#include "base/memory.h"
#include "base/timestamp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_SIZE 65536
#define ZEROS     "\0\0\0\0\0\0\0\0\0\0"
/* Fifteen bytes that are not used, and the counts: of changes, of offsets, of the bytes of names.
 */
#define HEAD "TZif2" ZEROS ZEROS ZEROS "\0\0\0\0\1\0\0\0\4"
/* No changes, one offset (UTC), and a rule. */
#define RULED(rule) HEAD "\0\0\0\0\0\0UTC\0" HEAD "\0\0\0\0\0\0UTC\0\n" rule "\n"

static int64_t second_of(const char *text)
{
    int64_t when = 0;
    assert_int_equal(timestamp_parse(slice_of_text(text), &when), ERR_NONE);
    return when / TIMESTAMP_SECOND;
}

static void check_offset(struct slice file, const char *when, int32_t hundredths)
{
    struct zone zone;
    assert_int_equal(zone_read(file, &zone), ERR_NONE);
    assert_int_equal(zone_offset(&zone, second_of(when)), hundredths * 36);
}

static void rules_are_followed_as_posix_has_them(void **state)
{
    (void)state;
    struct slice berlin = SLICE(RULED("CET-1CEST,M3.5.0,M10.5.0/3"));
    check_offset(berlin, "2026-03-29T00:59:00Z", 100);
    check_offset(berlin, "2026-03-29T01:00:00Z", 200);
    check_offset(berlin, "2026-10-25T00:59:00Z", 200);
    check_offset(berlin, "2026-10-25T01:00:00Z", 100);
    check_offset(berlin, "2400-07-01T00:00:00Z", 200);
    struct slice south = SLICE(RULED("AEST-10AEDT,M10.1.0,M4.1.0/3"));
    check_offset(south, "2026-01-01T00:00:00Z", 1100);
    check_offset(south, "2026-04-04T16:00:00Z", 1000);
    check_offset(south, "2026-10-03T16:00:00Z", 1100);
    check_offset(SLICE(RULED("<+0530>-5:30")), "2026-01-01T00:00:00Z", 550);
    check_offset(SLICE(RULED("XXX3EDT4,0/0,J365/23")), "2026-12-31T23:59:00Z", -400);
    check_offset(SLICE(RULED("<-02>2<-01>,M3.5.0/-1,M10.5.0/0")), "2026-03-29T00:59:00Z", -200);
    check_offset(SLICE(RULED("<-02>2<-01>,M3.5.0/-1,M10.5.0/0")), "2026-03-29T01:00:00Z", -100);
    check_offset(SLICE(RULED("AAA0BBB,J60/0,J300/0")), "2024-02-29T12:00:00Z", 0);
    check_offset(SLICE(RULED("AAA0BBB,59/0,300/0")), "2024-02-29T12:00:00Z", 100);
}

static void what_is_malformed_is_refused(void **state)
{
    (void)state;
    static const struct slice files[] = {
        SLICE_INIT(""),
        SLICE_INIT("TZif2"),
        SLICE_INIT(RULED("CE-1")),
        SLICE_INIT(RULED("CET")),
        SLICE_INIT(RULED("CET-1CEST")),
        SLICE_INIT(RULED("CET-1CEST,M13.1.0,M10.5.0")),
        SLICE_INIT(RULED("CET-1CEST,M3.5.0,M10.6.0")),
        SLICE_INIT(RULED("CET-1CEST,M3.5.0,M10.5.7")),
        SLICE_INIT(RULED("CET-1CEST,M3.5.0/168,M10.5.0")),
        SLICE_INIT(RULED("CET-1CEST,J0,J1")),
        SLICE_INIT(RULED("CET-1CEST,M3.5.0,M10.5.0 ")),
        SLICE_INIT(RULED("CET-25")),
        SLICE_INIT(RULED("<+05-5")),
    };
    struct zone zone;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (zone_read(files[i], &zone) != ERR_INPUT) {
            fail_msg("file %zu is taken", i);
        }
    }
    struct slice good = SLICE(RULED("CET-1CEST,M3.5.0,M10.5.0/3"));
    for (size_t len = 0; len < good.len - 27; len++) {
        assert_int_equal(zone_read(slice_sub(good, 0, len), &zone), ERR_INPUT);
    }
}

/* The C library reads the same files. */
static void compare_with_libc(const char *name)
{
    static char bytes[FILE_SIZE];
    char path[128];
    struct zone zone;
    (void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return; /* no database on this machine */
    }
    ssize_t size = read(fd, bytes, sizeof(bytes));
    (void)close(fd);
    assert_true(size > 0);
    assert_int_equal(zone_read(slice_of(bytes, (size_t)size), &zone), ERR_NONE);
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
    for (int64_t at = second_of("1900-01-01T00:00:00Z"); at < second_of("2120-01-01T00:00:00Z");
         at += 13 * 3600 + 7) {
        time_t when = (time_t)at;
        struct tm local;
        assert_non_null(localtime_r(&when, &local));
        if (local.tm_gmtoff != zone_offset(&zone, at)) {
            fail_msg("%s at %lld: %d, not %ld", name, (long long)at, zone_offset(&zone, at),
                     local.tm_gmtoff);
        }
    }
}

static void the_systems_zones_are_read_as_libc_reads_them(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Europe/Berlin",
        "Europe/Dublin",
        "America/New_York",
        "America/Sao_Paulo",
        "Asia/Kolkata",
        "Australia/Sydney",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "America/Nuuk",
        "Asia/Tehran",
        "Pacific/Apia",
        "Pacific/Kiritimati",
        "America/St_Johns",
        "Asia/Gaza",
        "Antarctica/Troll",
        "UTC",
        "Etc/GMT+12",
        "Africa/Monrovia",
        "America/Argentina/San_Luis",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        compare_with_libc(names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_followed_as_posix_has_them),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(the_systems_zones_are_read_as_libc_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

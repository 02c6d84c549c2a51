/* SPDX-License-Identifier: MIT */
/* Reading files whole. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char directory[] = "/tmp/pdl-file-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/file", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void write_file(size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++) {
        assert_int_not_equal(fputc((int)(i % 251), file), EOF);
    }
    assert_int_equal(fclose(file), 0);
}

PLAIN_TEST(a_file_is_read_whole_with_a_nul_behind_it)
{
    static const size_t sizes[] = {0, 1, 14, 15, 16, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *bytes = NULL;
        size_t size = 1;
        write_file(sizes[i]);
        assert_ok(pdl_file_read(path, 100000, &bytes, &size));
        assert_int_equal(size, sizes[i]);
        for (size_t at = 0; at < size; at++) {
            assert_int_equal(((unsigned char *)bytes)[at], at % 251);
        }
        assert_int_equal(((char *)bytes)[size], '\0');
        free(bytes);
    }
    assert_int_equal(unlink(path), 0);
}

PLAIN_TEST(a_file_over_the_limit_is_refused)
{
    void *bytes = NULL;
    size_t size = 0;
    write_file(1001);
    assert_refused(pdl_file_read(path, 1000, &bytes, &size), PDL_ERROR_FILE, "path", path, "1000");
    assert_null(bytes);
    assert_int_equal(unlink(path), 0);
}

#ifndef _WIN32
/* The kernel says 0 bytes of such a file, as it may of one that grows. */
PLAIN_TEST(more_than_was_announced_is_read_up_to_the_limit)
{
    void *bytes = NULL;
    size_t size = 0;
    assert_ok(pdl_file_read("/proc/self/status", 1 << 20, &bytes, &size));
    assert_true(size > 100 && strlen(bytes) == size);
    free(bytes);
    bytes = NULL;
    assert_refused(pdl_file_read("/proc/self/status", 100, &bytes, &size), PDL_ERROR_FILE, "path",
                   "100");
    assert_null(bytes);
}

PLAIN_TEST(a_pipe_is_refused_without_waiting)
{
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)alarm(10); /* ends the test where it waits */
    assert_refused(pdl_file_read(path, 1000, &bytes, &size), PDL_ERROR_FILE, "path", path,
                   "not a regular file");
    (void)alarm(0);
    assert_null(bytes);
    assert_int_equal(unlink(path), 0);
}

PLAIN_TEST(a_link_is_followed_unless_it_must_not_be)
{
    struct stat about;
    assert_int_equal(symlink("/proc/self/status", path), 0);
    const int file = pdl_file_open(AT_FDCWD, path, 0, &about);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(pdl_file_open(AT_FDCWD, path, O_NOFOLLOW, &about), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(unlink(path), 0);
}
#endif

int main(void)
{
    return run_all_tests(set_up, tear_down);
}

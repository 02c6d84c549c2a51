/* SPDX-License-Identifier: MIT */
/* Kernels from images and files. Images lie in memory of exactly their size, so that the sanitizers
 * and valgrind see whoever reads past them; the mock reads all that a header claims, as the driver
 * does. */
#include <sys/stat.h>
#include <unistd.h>

#include "code/elf_format.h"
#include "support.h"

static const char ptx_text[] = "//\n.version 8.0\n.target sm_90\n.visible .entry fc1() { ret; }\n";

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

/* A fatbin of 16 bytes of header and a body. */
static void *make_fatbin(size_t body, size_t *size)
{
    const uint32_t magic = 0xba55ed50;
    const uint16_t version = 1;
    const uint16_t header_size = 16;
    const uint64_t body_size = body;
    *size = header_size + body;
    char *image = calloc(1, *size);
    assert_non_null(image);
    memcpy(image, &magic, 4);
    memcpy(image + 4, &version, 2);
    memcpy(image + 6, &header_size, 2);
    memcpy(image + 8, &body_size, 8);
    return image;
}

/* A cubin with one section of 64 bytes, its headers behind it. */
static void *make_cubin(size_t *size)
{
    struct pdl_elf64_ehdr header;
    struct pdl_elf64_shdr sections[2];
    memset(&header, 0, sizeof(header));
    memset(sections, 0, sizeof(sections));
    memcpy(header.e_ident, PDL_ELFMAG, PDL_SELFMAG);
    header.e_ident[PDL_EI_CLASS] = PDL_ELFCLASS64;
    header.e_ident[PDL_EI_DATA] = PDL_ELFDATA2LSB;
    header.e_ident[PDL_EI_VERSION] = PDL_EV_CURRENT;
    header.e_machine = 190; /* PDL_EM_CUDA */
    header.e_ehsize = sizeof(header);
    header.e_shoff = sizeof(header) + 64;
    header.e_shentsize = sizeof(struct pdl_elf64_shdr);
    header.e_shnum = 2;
    sections[1].sh_type = PDL_SHT_PROGBITS;
    sections[1].sh_offset = sizeof(header);
    sections[1].sh_size = 64;
    *size = sizeof(header) + 64 + sizeof(sections);
    char *image = calloc(1, *size);
    assert_non_null(image);
    memcpy(image, &header, sizeof(header));
    memcpy(image + sizeof(header) + 64, sections, sizeof(sections));
    return image;
}

/* ---- what is accepted ----------------------------------------------------------------------- */

static void check_loaded(const void *image, size_t size)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    assert_ok(pdl_kernel_from_image(image, size, "fc3", &kernel));
    assert_int_equal(mock.live_libraries, 1);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ptr_equal(mock_last_launch()->function, mock_cu_kernel(2));
    pdl_kernel_destroy(kernel);
    assert_int_equal(mock.live_libraries, 0);
}

static void ptx_with_its_nul_is_loaded(void **state)
{
    (void)state;
    void *image = copy_of(ptx_text, sizeof(ptx_text));
    check_loaded(image, sizeof(ptx_text));
    assert_int_equal(mock.image_size, strlen(ptx_text));
    free(image);
}

static void ptx_need_not_end_in_a_nul(void **state)
{
    (void)state;
    void *image = copy_of(ptx_text, strlen(ptx_text));
    check_loaded(image, strlen(ptx_text));
    assert_int_equal(mock.image_size, strlen(ptx_text));
    free(image);
}

static void a_fatbin_is_loaded(void **state)
{
    (void)state;
    size_t size;
    void *image = make_fatbin(1000, &size);
    check_loaded(image, size);
    assert_int_equal(mock.image_size, size);
    free(image);
}

static void a_cubin_is_loaded(void **state)
{
    (void)state;
    size_t size;
    void *image = make_cubin(&size);
    check_loaded(image, size);
    assert_int_equal(mock.image_size, size);
    free(image);
}

static void an_image_may_be_freed_once_it_is_loaded(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    size_t size;
    char *name = copy_of("fc3", 4);
    void *image = make_fatbin(64, &size);
    assert_ok(pdl_kernel_from_image(image, size, name, &kernel));
    free(image);
    free(name);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

static void loading_needs_no_context(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    mock_set_current(-1);
    assert_ok(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", &kernel));
    pdl_kernel_destroy(kernel);
}

static void two_kernels_of_one_image_do_not_share_a_library(void **state)
{
    (void)state;
    pdl_kernel *first = NULL;
    pdl_kernel *second = NULL;
    assert_ok(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", &first));
    assert_ok(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc2", &second));
    assert_int_equal(mock.live_libraries, 2);
    pdl_kernel_destroy(first);
    assert_int_equal(mock.live_libraries, 1);
    pdl_kernel_destroy(second);
}

static void a_refusal_names_the_kernel_as_it_was_asked_for(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    pdl_launch_desc desc = plain_desc();
    mock_set_driver_version(12000); /* without the calls that know names */
    assert_ok(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc3", &kernel));
    desc.block[1] = 8;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_BLOCK_TOO_LARGE, "block", "fc3");
    pdl_kernel_destroy(kernel);
}

/* ---- what is refused ------------------------------------------------------------------------ */

/* The image must be refused without a crash, a leak or a kernel. */
#define assert_image_refused(image, size, status, ...)                                             \
    do {                                                                                           \
        pdl_kernel *made_ = NULL;                                                                  \
        assert_refused(pdl_kernel_from_image((image), (size), "fc1", &made_), (status),            \
                       __VA_ARGS__);                                                               \
        assert_null(made_);                                                                        \
        assert_int_equal(mock.live_libraries, 0);                                                  \
    } while (0)

static void missing_arguments_are_named(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    assert_refused(pdl_kernel_from_image(NULL, 10, "fc1", &kernel), PDL_ERROR_INVALID_ARGUMENT,
                   "image", "NULL");
    assert_refused(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), NULL, &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "name", "NULL");
    assert_refused(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "", &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "name", "");
    assert_refused(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
    assert_null(kernel);
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 0);
}

static void an_empty_image_is_refused(void **state)
{
    (void)state;
    void *image = copy_of("", 0);
    assert_image_refused(image, 0, PDL_ERROR_INVALID_IMAGE, "image", "0");
    free(image);
}

static void noise_is_refused(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (size_t size = 1; size < 2000; size = size * 3 / 2 + 1) {
        unsigned char *image = malloc(size);
        assert_non_null(image);
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            image[i] = (unsigned char)(random >> 24);
        }
        assert_image_refused(image, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(image);
    }
}

static void text_that_is_not_ptx_is_refused(void **state)
{
    (void)state;
    static const char text[] = "#include <stdio.h>\nint main(void) { return 0; }\n";
    void *image = copy_of(text, strlen(text));
    assert_image_refused(image, strlen(text), PDL_ERROR_INVALID_IMAGE, NULL, "");
    free(image);
}

static void a_fatbin_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t size;
    void *image = make_fatbin(100, &size);
    for (size_t cut = 1; cut < size; cut++) {
        void *part = copy_of(image, cut);
        assert_image_refused(part, cut, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(part);
    }
    free(image);
}

static void a_cubin_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t size;
    void *image = make_cubin(&size);
    for (size_t cut = 1; cut < size; cut++) {
        void *part = copy_of(image, cut);
        assert_image_refused(part, cut, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(part);
    }
    free(image);
}

static void ptx_cut_before_its_version_is_refused(void **state)
{
    (void)state;
    const size_t directive = (size_t)(strstr(ptx_text, ".version") - ptx_text) + 8;
    for (size_t cut = 1; cut < directive; cut++) {
        void *part = copy_of(ptx_text, cut);
        assert_image_refused(part, cut, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(part);
    }
}

static void a_fatbin_whose_header_is_shorter_than_a_header_is_refused(void **state)
{
    (void)state;
    size_t size;
    for (uint16_t header_size = 0; header_size < 16; header_size++) {
        char *image = make_fatbin(100, &size);
        memcpy(image + 6, &header_size, sizeof(header_size));
        assert_image_refused(image, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(image);
    }
}

/* Sizes in headers that do not fit into 64 bits when they are added. */
static void headers_with_absurd_sizes_are_refused(void **state)
{
    (void)state;
    size_t size;
    const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX / 2, UINT64_MAX - 64};
    for (size_t i = 0; i < COUNT_OF(absurd); i++) {
        char *fatbin = make_fatbin(100, &size);
        memcpy(fatbin + 8, &absurd[i], 8);
        assert_image_refused(fatbin, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(fatbin);
        const size_t places[] = {offsetof(struct pdl_elf64_ehdr, e_shoff),
                                 offsetof(struct pdl_elf64_ehdr, e_phoff)};
        for (size_t p = 0; p < COUNT_OF(places); p++) {
            char *cubin = make_cubin(&size);
            memcpy(cubin + places[p], &absurd[i], 8);
            assert_image_refused(cubin, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
            free(cubin);
        }
        char *cubin = make_cubin(&size); /* the section's place and size */
        memcpy(cubin + size - sizeof(struct pdl_elf64_shdr) +
                   offsetof(struct pdl_elf64_shdr, sh_offset),
               &absurd[i], 8);
        assert_image_refused(cubin, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(cubin);
        cubin = make_cubin(&size);
        memcpy(cubin + size - sizeof(struct pdl_elf64_shdr) +
                   offsetof(struct pdl_elf64_shdr, sh_size),
               &absurd[i], 8);
        assert_image_refused(cubin, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(cubin);
    }
}

static void the_drivers_refusals_have_their_statuses(void **state)
{
    (void)state;
    static const struct {
        CUresult result;
        pdl_status status;
    } refusals[] = {
        {CUDA_ERROR_INVALID_IMAGE, PDL_ERROR_INVALID_IMAGE},
        {CUDA_ERROR_INVALID_PTX, PDL_ERROR_INVALID_IMAGE},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, PDL_ERROR_NO_KERNEL_IMAGE},
        {CUDA_ERROR_OUT_OF_MEMORY, PDL_ERROR_OUT_OF_MEMORY},
        {CUDA_ERROR_UNKNOWN, PDL_ERROR_DRIVER},
    };
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        mock.image_result = refusals[i].result;
        assert_image_refused(ptx_text, sizeof(ptx_text), refusals[i].status, NULL,
                             "cuLibraryLoadData",
                             pdl_driver_result_name(&mock.table, refusals[i].result));
        assert_string_equal(pdl_last_error()->call, "cuLibraryLoadData");
        assert_int_equal(pdl_last_error()->cuda_result, refusals[i].result);
    }
}

static void what_the_ptx_compiler_says_is_in_the_message(void **state)
{
    (void)state;
    mock.image_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = "ptxas application ptx input, line 3; fatal   : Parsing error near 'nonsense'\n";
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_INVALID_IMAGE, NULL,
                         "CUDA_ERROR_INVALID_PTX", "line 3", "Parsing error near 'nonsense'");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_INVALID_PTX);
    assert_string_equal(pdl_last_error()->call, "cuLibraryLoadData");
}

/* PTX may be compiled when it is loaded, when an entry is asked for, or when it is first used. */
static void what_the_ptx_compiler_says_late_is_in_the_message_too(void **state)
{
    (void)state;
    mock.find_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = "ptxas application ptx input, line 9; fatal   : late nonsense";
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_INVALID_IMAGE, NULL,
                         "CUDA_ERROR_INVALID_PTX", "line 9", "late nonsense");
    assert_string_equal(pdl_last_error()->call, "cuLibraryGetKernel");
}

static void the_ptx_compiler_may_write_its_log_until_the_image_is_unloaded(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    assert_ok(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", &kernel));
    mock.jit_log = "ptxas info: a line that is written when the kernel is first asked about";
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

static void a_log_longer_than_the_message_is_cut(void **state)
{
    (void)state;
    char *log = malloc(100000);
    assert_non_null(log);
    memset(log, 'x', 99999);
    memcpy(log, "line 7", 6);
    log[99999] = '\0';
    mock.image_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = log;
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_INVALID_IMAGE, NULL, "line 7");
    free(log);
}

static void a_name_that_is_not_in_the_image_is_told_and_the_image_unloaded(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    assert_refused(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc9", &kernel),
                   PDL_ERROR_NOT_FOUND, "name", "fc9");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_NOT_FOUND);
    assert_null(kernel);
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 1);
    assert_int_equal(mock.live_libraries, 0);
}

static void a_kernel_without_code_for_the_device_unloads_the_image(void **state)
{
    (void)state;
    mock_fail(MOCK_cuLibraryGetKernel, 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_NO_KERNEL_IMAGE, NULL,
                         "cuLibraryGetKernel");
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 1);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char directory[64];

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof(directory), "/tmp/pdl_test_image_XXXXXX");
    return mkdtemp(directory) != NULL ? mock_setup(state) : -1;
}

static int remove_directory(void **state)
{
    (void)rmdir(directory);
    return mock_teardown(state);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void images_are_read_from_files(void **state)
{
    (void)state;
    char path[128];
    size_t size;
    void *fatbin = make_fatbin(100000, &size);
    const struct {
        const void *bytes;
        size_t size;
    } images[] = {{ptx_text, strlen(ptx_text)}, {ptx_text, sizeof(ptx_text)}, {fatbin, size}};
    (void)snprintf(path, sizeof(path), "%s/image", directory);
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        pdl_kernel *kernel = NULL;
        write_file(path, images[i].bytes, images[i].size);
        assert_ok(pdl_kernel_from_file(path, "fc1", &kernel));
        assert_int_equal(unlink(path), 0);
        pdl_kernel_destroy(kernel);
    }
    free(fatbin);
}

static void a_file_that_is_missing_is_told_as_the_c_library_does(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/missing.cubin", directory);
    assert_refused(pdl_kernel_from_file(path, "fc1", &kernel), PDL_ERROR_FILE, "path", path,
                   "No such file or directory");
    assert_null(kernel);
}

static void a_directory_is_not_a_file(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    assert_refused(pdl_kernel_from_file(directory, "fc1", &kernel), PDL_ERROR_FILE, "path",
                   directory);
    assert_null(kernel);
}

static void a_device_is_not_read_as_a_file(void **state)
{
    (void)state;
#ifdef _WIN32
    static const char *const devices[] = {"NUL", "\\\\.\\pipe\\"};
#else
    static const char *const devices[] = {"/dev/null", "/dev/zero"};
#endif
    pdl_kernel *kernel = NULL;
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        assert_refused(pdl_kernel_from_file(devices[i], "fc1", &kernel), PDL_ERROR_FILE, "path",
                       devices[i]);
        assert_null(kernel);
    }
}

#ifndef _WIN32
static void a_pipe_is_not_waited_for(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/pipe", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)alarm(20); /* ends the test where it waits */
    assert_refused(pdl_kernel_from_file(path, "fc1", &kernel), PDL_ERROR_FILE, "path", path,
                   "not a regular file");
    (void)alarm(0);
    assert_null(kernel);
    assert_int_equal(unlink(path), 0);
}
#endif

static void an_empty_file_is_no_image(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/empty", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_not_equal(pdl_kernel_from_file(path, "fc1", &kernel), PDL_SUCCESS);
    assert_null(kernel);
    assert_int_equal(unlink(path), 0);
}

static void no_file_stays_open(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/image", directory);
    write_file(path, ptx_text, sizeof(ptx_text));
    const int before = dup(STDERR_FILENO); /* the lowest free number */
    assert_int_equal(close(before), 0);
    assert_ok(pdl_kernel_from_file(path, "fc1", &kernel));
    pdl_kernel_destroy(kernel);
    assert_refused(pdl_kernel_from_file(path, "fc9", &kernel), PDL_ERROR_NOT_FOUND, NULL, "");
    assert_refused(pdl_kernel_from_file(directory, "fc1", &kernel), PDL_ERROR_FILE, NULL, "");
    const int after = dup(STDERR_FILENO);
    assert_int_equal(close(after), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(after, before);
}

static void an_unreadable_file_is_told_as_the_c_library_does(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/secret.cubin", directory);
    write_file(path, ptx_text, sizeof(ptx_text));
    assert_int_equal(chmod(path, 0), 0);
    const bool readable_anyway = access(path, R_OK) == 0; /* the superuser reads everything */
    const pdl_status status = pdl_kernel_from_file(path, "fc1", &kernel);
    assert_int_equal(chmod(path, S_IRUSR | S_IWUSR), 0); /* so that Windows deletes it */
    assert_int_equal(unlink(path), 0);
    if (readable_anyway) {
        assert_ok(status);
        pdl_kernel_destroy(kernel);
    } else {
        assert_refused(status, PDL_ERROR_FILE, "path", path, "Permission denied");
    }
}

static void a_path_through_a_file_is_told_as_the_c_library_does(void **state)
{
    (void)state;
    char path[128];
    char through[160];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/image", directory);
    (void)snprintf(through, sizeof(through), "%s/deeper", path);
    write_file(path, ptx_text, sizeof(ptx_text));
    const pdl_status status = pdl_kernel_from_file(through, "fc1", &kernel);
    assert_int_equal(unlink(path), 0);
#ifdef _WIN32 /* where that is one case */
    const char *const reason = "No such file or directory";
#else
    const char *const reason = "Not a directory";
#endif
    assert_refused(status, PDL_ERROR_FILE, "path", through, reason);
}

static void an_empty_file_is_not_an_image(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/empty", directory);
    write_file(path, "", 0);
    const pdl_status status = pdl_kernel_from_file(path, "fc1", &kernel);
    assert_int_equal(unlink(path), 0);
    assert_refused(status, PDL_ERROR_INVALID_IMAGE, NULL, "");
}

static void missing_arguments_of_a_file_are_named(void **state)
{
    (void)state;
    char path[128];
    pdl_kernel *kernel = NULL;
    (void)snprintf(path, sizeof(path), "%s/image", directory);
    write_file(path, ptx_text, sizeof(ptx_text));
    assert_refused(pdl_kernel_from_file(NULL, "fc1", &kernel), PDL_ERROR_INVALID_ARGUMENT, "path",
                   "NULL");
    assert_refused(pdl_kernel_from_file(path, NULL, &kernel), PDL_ERROR_INVALID_ARGUMENT, "name",
                   "NULL");
    assert_refused(pdl_kernel_from_file(path, "fc1", NULL), PDL_ERROR_INVALID_ARGUMENT, "kernel",
                   "NULL");
    assert_int_equal(unlink(path), 0);
}

#define FILE_TEST(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(ptx_with_its_nul_is_loaded),
        MOCK_TEST(ptx_need_not_end_in_a_nul),
        MOCK_TEST(a_fatbin_is_loaded),
        MOCK_TEST(a_cubin_is_loaded),
        MOCK_TEST(an_image_may_be_freed_once_it_is_loaded),
        MOCK_TEST(loading_needs_no_context),
        MOCK_TEST(two_kernels_of_one_image_do_not_share_a_library),
        MOCK_TEST(a_refusal_names_the_kernel_as_it_was_asked_for),
        MOCK_TEST(missing_arguments_are_named),
        MOCK_TEST(an_empty_image_is_refused),
        MOCK_TEST(noise_is_refused),
        MOCK_TEST(text_that_is_not_ptx_is_refused),
        MOCK_TEST(a_fatbin_cut_anywhere_is_refused),
        MOCK_TEST(a_cubin_cut_anywhere_is_refused),
        MOCK_TEST(ptx_cut_before_its_version_is_refused),
        MOCK_TEST(a_fatbin_whose_header_is_shorter_than_a_header_is_refused),
        MOCK_TEST(headers_with_absurd_sizes_are_refused),
        MOCK_TEST(the_drivers_refusals_have_their_statuses),
        MOCK_TEST(what_the_ptx_compiler_says_is_in_the_message),
        MOCK_TEST(what_the_ptx_compiler_says_late_is_in_the_message_too),
        MOCK_TEST(the_ptx_compiler_may_write_its_log_until_the_image_is_unloaded),
        MOCK_TEST(a_log_longer_than_the_message_is_cut),
        MOCK_TEST(a_name_that_is_not_in_the_image_is_told_and_the_image_unloaded),
        MOCK_TEST(a_kernel_without_code_for_the_device_unloads_the_image),
        FILE_TEST(images_are_read_from_files),
        FILE_TEST(a_file_that_is_missing_is_told_as_the_c_library_does),
        FILE_TEST(a_directory_is_not_a_file),
        FILE_TEST(a_device_is_not_read_as_a_file),
#ifndef _WIN32
        FILE_TEST(a_pipe_is_not_waited_for),
#endif
        FILE_TEST(an_empty_file_is_no_image),
        FILE_TEST(no_file_stays_open),
        FILE_TEST(an_unreadable_file_is_told_as_the_c_library_does),
        FILE_TEST(a_path_through_a_file_is_told_as_the_c_library_does),
        FILE_TEST(an_empty_file_is_not_an_image),
        FILE_TEST(missing_arguments_of_a_file_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* make_seeds DIRECTORY: writes small images there for the fuzz targets to start from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../inspect/make_image.h"

static const char *directory;

static void write_seed(const char *name, struct bytes bytes)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes.data, 1, bytes.size, file) != bytes.size ||
        fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    bytes_free(&bytes);
}

static void write_table(const char *name, uint64_t flag, const struct made_image *images,
                        unsigned count)
{
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    (void)fatbin_add_table(&bytes, flag, images, count);
    fatbin_end(&bytes, begin);
    write_seed(name, bytes);
}

int main(int count, char **arguments)
{
    static const char text[] = ".version 8.5\n.target sm_90\n.address_size 64\n"
                               ".visible .entry fc1()\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n";
    static const struct made_cubin linked = {
        .target = 100,
        .suffix = 'f',
        .functions = {{.name = "fc1", .code = {OP_CALL, OP_WAIT, OP_EXIT}, .shared_memory = 1280},
                      {.name = "copy", .copy_in = "fc1", .is_device = true, .code = {OP_TRIGGER}},
                      {.name = "helper", .is_device = true, .code = {OP_CALL_POINTER, OP_EXIT}}},
        .calls = {{"fc1", "helper", false}, {"fc1", "helper", true}, {"helper", NULL, false}}};
    static const char loads[] =
        ".version 8.5\n.target sm_90\n.address_size 64\n.file 1 \"/s/a.cu\"\n"
        ".visible .entry fc1(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n"
        "\t.reg .b32 %r;\n\tld.param.u64 %rd1, [p];\n"
        "\tgriddepcontrol.wait;\n\t.loc 1 11 5\n"
        "\tld.global.nc.u32 %r, [%rd1];\n"
        "\tst.global.u32 [%rd1], %r;\n\tret;\n}\n";
    static const unsigned char table[] = {
        79, 0,   0,   0, 2, 0,    27,  0,   0,    0, 1, 1, 0xfb, 14, 10, 0, 1, 1,  1, 1, 0, 0, 0,
        1,  '/', 's', 0, 0, 'a',  '.', 'c', 'u',  0, 1, 0, 0,    0,  0,  9, 2, 0,  0, 0, 0, 0, 0,
        0,  0,   3,   9, 1, 0xf0, 0,   3,   0x90, 1, 0, 3, 19,   2,  16, 1, 2, 32, 0, 1, 1};
    struct bytes lines = {0};
    bytes_add(&lines, table, sizeof(table));
    const uint32_t length = sizeof(table) - 4;
    memcpy(lines.data, &length, sizeof(length));
    const struct made_cubin moved = {
        .target = 90,
        .functions = {{.name = "fc1",
                       .code = {OP_OTHER, OP_LOAD_CONSTANT, MADE_OVER(OP_CALL_NEAR, 4),
                                OP_BRANCH_TABLE, OP_STORE, OP_WAIT, OP_EXIT},
                       .table = {.at = 3, .count = 2, .to = {64, 80}}},
                      {.name = "copy",
                       .copy_in = "fc1",
                       .is_device = true,
                       .code = {OP_LOAD, OP_RETURN}}},
        .lines = {.bytes = &lines, .relocations = {{40, "fc1"}}},
        .ptx_lines = {.bytes = &lines, .relocations = {{40, "fc1"}}},
        .strings = "_Z6inlinev"};
    static const struct made_cubin unknown = {
        .target = 130,
        .functions = {
            {.name = "fc1", .code = {OP_WAIT, OP_EXIT, MADE_OVER(OP_BRANCH, -1), OP_OTHER}}}};
    if (count != 2) {
        return 2;
    }
    directory = arguments[1];
    struct bytes cubin = make_cubin(&plain_cubin);
    struct bytes fatbin = make_fatbin(MADE_PTX, 90, text, strlen(text));
    const size_t begin = fatbin_begin(&fatbin);
    fatbin_add(&fatbin, MADE_CUBIN, 90, MADE_A, cubin.data, cubin.size, 0);
    fatbin_add(&fatbin, MADE_PTX, 90, MADE_ZSTD, "data", 4, 100);
    fatbin_end(&fatbin, begin);
    const struct made_image images[] = {{MADE_PTX, 90, text, strlen(text), "a.cu", "-O3"},
                                        {MADE_CUBIN, 90, cubin.data, cubin.size, NULL, NULL},
                                        {MADE_PTX, 120, loads, strlen(loads), NULL, ""}};
    write_table("table", 0, images, 3);
    write_table("table_zstd", MADE_ZSTD, images, 3);
    write_table("table_lz4", MADE_LZ4, images, 3);
    struct bytes kinds = make_fatbin(MADE_LINKED, 90, text, strlen(text));
    const size_t more = fatbin_begin(&kinds);
    fatbin_add(&kinds, MADE_TILE, 90, 0, "tile", 4, 0);
    fatbin_add(&kinds, 0x200, 90, 0, "what", 4, 0);
    fatbin_end(&kinds, more);
    write_seed("kinds", kinds);
    const struct made_section sections[] = {{".nv_fatbin", &fatbin, 0}};
    struct bytes archive = make_archive();
    archive_add(&archive, "a.cubin/", &cubin);
    struct bytes code = make_cubin(&moved);
    struct bytes pair = make_fatbin(MADE_PTX, 90, loads, strlen(loads));
    const size_t at = fatbin_begin(&pair);
    fatbin_add(&pair, MADE_CUBIN, 90, 0, code.data, code.size, 0);
    fatbin_end(&pair, at);
    bytes_free(&lines);
    write_seed("unknown.cubin", make_cubin(&unknown));
    write_seed("moved.cubin", code);
    write_seed("pair", pair);
    write_seed("elf", make_elf(PDL_ET_DYN, sections, 1, false));
    write_seed("stripped", make_elf(PDL_ET_EXEC, sections, 1, true));
    write_seed("linked.cubin", make_cubin(&linked));
    write_seed("archive", archive);
    write_seed("cubin", cubin);
    write_seed("fatbin", fatbin);
    return 0;
}

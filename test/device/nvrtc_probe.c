/* SPDX-License-Identifier: MIT */
/* Compiles one source to PTX through NVRTC, for the probes:
 *
 *     nvrtc_probe --list                                    the architectures, one compute_XY a line
 *     nvrtc_probe SOURCE OUTPUT HEADER NAME OPTION...       NAME is what the source includes HEADER as
 *
 * The header is handed over as text and NVRTC is given no directory to look into. Needs no device. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(nvrtcResult result, const char *call)
{
    if (result != NVRTC_SUCCESS) {
        fprintf(stderr, "%s: %s\n", call, nvrtcGetErrorString(result));
        exit(1);
    }
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    const long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    if (text == NULL || fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    text[size] = '\0';
    fclose(file);
    return text;
}

static int list(void)
{
    int count = 0;
    check(nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    int *archs = calloc((size_t)count + 1, sizeof(*archs));
    if (archs == NULL) {
        return 1;
    }
    check(nvrtcGetSupportedArchs(archs), "nvrtcGetSupportedArchs");
    for (int i = 0; i < count; i++) {
        printf("compute_%d\n", archs[i]);
    }
    free(archs);
    return 0;
}

/* As with the other compilers, a warning counts as an error: but not that a later NVRTC will not know the architecture. */
static int warns(const char *log)
{
    for (const char *at = strstr(log, "warning"); at != NULL; at = strstr(at + 1, "warning")) {
        if (strncmp(at, "warning: Architectures prior to", 31) != 0) {
            return 1;
        }
    }
    return 0;
}

static int compile(const char *source_path, const char *output, const char *header_path,
                   const char *header_name, int option_count, const char *const *options)
{
    char *source = read_file(source_path);
    char *header = read_file(header_path);
    const char *const headers[] = {header};
    const char *const names[] = {header_name};
    nvrtcProgram program;
    check(nvrtcCreateProgram(&program, source, source_path, 1, headers, names),
          "nvrtcCreateProgram");

    const nvrtcResult compiled = nvrtcCompileProgram(program, option_count, options);
    size_t size = 0;
    check(nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
    char *text = calloc(size + 1, 1);
    if (text == NULL) {
        return 1;
    }
    check(nvrtcGetProgramLog(program, text), "nvrtcGetProgramLog");
    const int failed = compiled != NVRTC_SUCCESS || warns(text);
    fputs(text, stderr);
    free(text);

    if (!failed) {
        check(nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize");
        text = calloc(size + 1, 1);
        if (text == NULL) {
            return 1;
        }
        check(nvrtcGetPTX(program, text), "nvrtcGetPTX");
        FILE *file = fopen(output, "w");
        if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
            perror(output);
            return 1;
        }
        free(text);
    }
    check(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
    free(source);
    free(header);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        return list();
    }
    if (argc < 5) {
        fprintf(stderr, "usage: nvrtc_probe --list | SOURCE OUTPUT HEADER NAME OPTION...\n");
        return 2;
    }
    return compile(argv[1], argv[2], argv[3], argv[4], argc - 5, (const char *const *)argv + 5);
}

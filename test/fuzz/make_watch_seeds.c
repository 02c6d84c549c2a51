/* SPDX-License-Identifier: MIT */
/* make_watch_seeds DIRECTORY: writes small recordings there for fuzz_watch to start from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../inspect/make_image.h"
#include "make_recording.h"

static const char *directory;

static void begin(struct recording *recording)
{
    recording_begin(recording);
    recording_chunk(recording, PDL_WATCH_PAGE); /* the smaller, the more is changed in it */
    recording_device(recording, 1);
    recording_name(recording, 1, "fc1");
    recording_name(recording, 2, "fc2");
    (void)recording_function(recording, 1, 1);
    (void)recording_function(recording, 2, 2);
}

static void end(struct recording *recording, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (!recording_write(recording, path)) {
        perror(path);
        exit(1);
    }
    recording_free(recording);
}

static void write_stream(void)
{
    struct recording recording;
    begin(&recording);
    for (uint32_t i = 1; i <= 4; i++) {
        (void)recording_launch(&recording, 1 + i % 2, 7, i * 1000, i,
                               i % 2 ? PDL_WATCH_OVERLAP | PDL_WATCH_ASKED : 0);
        (void)recording_execution(&recording, 1 + i % 2, 13, 10000 + i * 5000, 16000 + i * 5000, i);
    }
    (void)recording_operation(&recording, PDL_WATCH_SET, 7, 6000, 5, 0);
    recording_transfer(&recording, PDL_WATCH_SET, 13, 40000, 41000, 5);
    (void)recording_operation(&recording, PDL_WATCH_EVENT_RECORD, 7, 7000, 6, 99);
    (void)recording_operation(&recording, PDL_WATCH_EVENT_WAIT, 8, 8000, 7, 99);
    (void)recording_operation(&recording, PDL_WATCH_HOST_FUNCTION, 8, 8500, 8, 0);
    end(&recording, "stream");
}

static void write_graph(void)
{
    struct recording recording;
    begin(&recording);
    recording_graph(&recording, 77, 5, 3, 2);
    for (uint32_t i = 1; i <= 3; i++) {
        (void)recording_node(&recording, 77, i, 1 + i % 2, i > 1 ? PDL_WATCH_ASKED : 0);
        recording_clone(&recording, i, i + 10);
    }
    recording_edge(&recording, 77, 1, 2, true);
    recording_edge(&recording, 77, 2, 3, false);
    for (uint32_t replay = 0; replay < 2; replay++) {
        (void)recording_operation(&recording, PDL_WATCH_GRAPH_LAUNCH, 7, 1000 + replay, 20 + replay,
                                  77);
        for (uint32_t i = 1; i <= 3; i++) {
            struct pdl_watch_execution *const run =
                recording_execution(&recording, 1 + i % 2, 13, replay * 50000 + 10000 + i * 5000,
                                    replay * 50000 + 16000 + i * 5000, 20 + replay);
            run->node = i + 10;
            run->graph = 5;
        }
    }
    end(&recording, "graph");
}

static void write_code(void)
{
    static const char ptx[] = ".version 8.5\n.target sm_90\n.address_size 64\n"
                              ".visible .entry fc1()\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n";
    struct recording recording;
    struct bytes cubin = make_cubin(&plain_cubin);
    begin(&recording);
    recording_image(&recording, PDL_WATCH_CUBIN, cubin.data, cubin.size);
    recording_image(&recording, PDL_WATCH_PTX, ptx, sizeof(ptx) - 1);
    (void)recording_launch(&recording, 1, 7, 1000, 1, PDL_WATCH_OVERLAP | PDL_WATCH_ASKED);
    recording_text(&recording, PDL_WATCH_NOTE, "no device times: libcupti.so was not found");
    bytes_free(&cubin);
    end(&recording, "code");
}

int main(int count, char **arguments)
{
    if (count != 2) {
        return 2;
    }
    directory = arguments[1];
    write_stream();
    write_graph();
    write_code();
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "watch/model.h"

static const struct {
    const char *word, *text;
    const char *remedy; /* NULL: there is none */
} reasons[WATCH_REASON_COUNT] = {
    [WATCH_OVERLAPPED] = {"overlapped", "it overlapped", NULL},
    [WATCH_FIRST] = {"first", "no kernel is before it", NULL},
    [WATCH_NOT_ASKED] = {"not_asked", "the launch did not ask for overlap",
                         "launch it with the attribute, or try --overlap on"},
    [WATCH_TAKEN_OUT] = {"taken_out", "libpdl-watch removed the overlap", NULL},
    [WATCH_NOT_PROVED] = {"not_proved", "its kernel is not proved to wait before it touches memory",
                          "add a wait, or try --instrument for what is loaded as PTX"},
    [WATCH_COOPERATIVE] = {"cooperative", "a cooperative launch does not overlap", NULL},
    [WATCH_OLD_CODE] = {"old_code", "its code is older than 9.0", "compile it for sm_90 or newer"},
    [WATCH_OLD_DEVICE] = {"old_device", "the device is older than 9.0", NULL},
    [WATCH_COPY_BETWEEN] = {"copy_between", "a copy or memset is between them",
                            "move it, or do its work in a kernel"},
    [WATCH_EVENT_BETWEEN] = {"event_between", "it waits for an event of another stream",
                             "wait for the event earlier, or use one stream"},
    [WATCH_HOST_BETWEEN] = {"host_between", "a host function is between them", "move it"},
    [WATCH_OTHER_BETWEEN] = {"other_between", "another operation is between them",
                             "move it, or record a graph"},
    [WATCH_EVENT_EAGER] = {"event_eager",
                           "a programmatic event does not overlap streams outside of a graph",
                           "capture both streams into one graph"},
    [WATCH_FULL_EDGE] = {"full_edge", "it has a full edge", "make all edges to it programmatic"},
    [WATCH_NO_ROOM] = {"no_room", "no block of it fits beside the kernel before it",
                       "use fewer registers, less shared memory or smaller blocks in either"},
    [WATCH_HOST_LATE] = {"host_late", "the host launched it too late",
                         "record a graph, or launch earlier"},
    [WATCH_TRIGGERS_AT_END] = {"triggers_at_end", "the kernel before it never triggers",
                               "add a trigger to that kernel"},
    [WATCH_WAVES] = {"waves", "the last blocks of the kernel before it start late",
                     "launch that kernel with fewer blocks that do more each"},
    [WATCH_WAITS_FIRST] = {"waits_first", "it does nothing before it waits",
                           "move work before the wait"},
    [WATCH_UNKNOWN] = {"unknown", "the reason is unknown", NULL},
};

static const struct {
    const char *word, *text;
} races[] = {
    [WATCH_RACE_NONE] = {"none", "no race was found"},
    [WATCH_RACE_NO_WAIT] = {"no_wait", "it never waits"},
    [WATCH_RACE_OLD_CODE] =
        {"old_code",
         "it was compiled for an architecture older than 9.0, where its waits do nothing"},
    [WATCH_RACE_SOME_PATHS] = {"some_paths", "some of its threads or launches do not wait"},
    [WATCH_RACE_EARLY] = {"early", "it touches memory before it waits, which is right only if no "
                                   "kernel in flight writes that memory"},
    [WATCH_RACE_UNKNOWN] = {"unknown", "it is unknown whether it waits in time"},
};

static const struct {
    const char *word, *text;
} unseens[] = {
    [WATCH_ALL_SEEN] = {NULL, "all launches were seen"},
    [WATCH_NOTHING_RECORDED] = {"nothing_recorded", "no launch was recorded"},
    [WATCH_NO_LAUNCH] = {"no_launch", "no launch is left to report on"},
    [WATCH_LOST] = {"lost", "records were lost"},
    [WATCH_NO_CODE] = {"no_code", "the code of kernels that were launched with overlap was not "
                                  "recorded"},
};

const char *watch_reason_text(enum watch_reason reason)
{
    return reason < WATCH_REASON_COUNT ? reasons[reason].text : "unknown";
}

const char *watch_reason_remedy(enum watch_reason reason)
{
    return reason < WATCH_REASON_COUNT ? reasons[reason].remedy : NULL;
}

const char *watch_reason_word(enum watch_reason reason)
{
    return reason < WATCH_REASON_COUNT ? reasons[reason].word : "unknown";
}

bool watch_race_is_one(enum watch_race race)
{
    return race == WATCH_RACE_NO_WAIT || race == WATCH_RACE_OLD_CODE ||
           race == WATCH_RACE_SOME_PATHS;
}

bool watch_race_is_open(enum watch_race race)
{
    return race == WATCH_RACE_EARLY || race == WATCH_RACE_UNKNOWN;
}

const char *watch_instrumented_word(uint32_t instrumented)
{
    static const char *const words[] = {"no", "yes", "waits", "excluded", "refused"};
    return instrumented < sizeof(words) / sizeof(words[0]) ? words[instrumented] : "no";
}

const char *watch_race_text(enum watch_race race)
{
    return race <= WATCH_RACE_UNKNOWN ? races[race].text : "unknown";
}

const char *watch_race_word(enum watch_race race)
{
    return race <= WATCH_RACE_UNKNOWN ? races[race].word : "unknown";
}

enum watch_unseen watch_unseen(const struct watch *watch)
{
    if (watch->sums.launches == 0) {
        return watch->launches.count + watch->runs.count > 0 ? WATCH_NO_LAUNCH
                                                             : WATCH_NOTHING_RECORDED;
    }
    for (size_t i = 0; i < watch->processes.count; i++) {
        if (watch->processes.items[i].lost > 0 || watch->processes.items[i].damaged) {
            return WATCH_LOST;
        }
    }
    for (size_t i = 0; i < watch->kernels.count; i++) {
        if (watch->kernels.items[i].no_code && watch->kernels.items[i].race == WATCH_RACE_UNKNOWN) {
            return WATCH_NO_CODE;
        }
    }
    return WATCH_ALL_SEEN;
}

const char *watch_unseen_text(enum watch_unseen unseen)
{
    return unseens[unseen].text;
}

const char *watch_unseen_word(enum watch_unseen unseen)
{
    return unseens[unseen].word;
}

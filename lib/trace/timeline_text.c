/* SPDX-License-Identifier: MIT */
/* A timeline as text: how its tracks compare, a table of launches, and a picture of characters. */
#include <string.h>

#include "core/error.h"
#include "trace/timeline_forms.h"

/* Of each track, the first launches are shown. */
#define LAUNCHES_MOST 24

#define LINE_MOST    1000 /* characters of a note or a name, which a terminal wraps */
#define COLUMNS_MOST 400
#define NUMBER_WIDTH 10
#define NUMBERS      5 /* start, end, blocked, triggered, blocks */
#define INDEX_WIDTH  5
#define LABEL_MOST   24

struct text {
    const struct pdl_timeline *timeline;
    FILE *out;
    uint32_t columns;
    int digits;       /* of microseconds, after the point */
    int64_t start_ns; /* of the launches that are shown */
    int64_t end_ns;
};

/* ---- lines ---------------------------------------------------------------------------------- */

/* In just so many columns, cut or filled up. */
static void put_name(const struct text *text, const char *name, uint32_t width)
{
    struct pdl_text_shown shown = pdl_text_show(name);
    uint32_t length = 0;
    while (pdl_text_shown_next(&shown) != 0) {
        length++;
    }
    shown = pdl_text_show(name);
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t c = pdl_text_shown_next(&shown);
        pdl_text_put(text->out, length > width && i + 1 == width ? 0x2026 : c != 0 ? c : ' ');
    }
}

static void put_line(const struct text *text, const char *line)
{
    pdl_text_put_shown(text->out, line, LINE_MOST);
    (void)fputc('\n', text->out);
}

/* ---- a line per launch -------------------------------------------------------------------------- */

static void put_us(const struct text *text, int64_t time_ns, bool known)
{
    char us[PDL_MICROSECONDS];
    (void)fprintf(text->out, " %*s", NUMBER_WIDTH - 1,
                  known ? pdl_microseconds(time_ns, text->digits, us) : "-");
}

static uint32_t name_width(const struct text *text)
{
    return text->columns - INDEX_WIDTH - NUMBERS * NUMBER_WIDTH;
}

static void put_heads(const struct text *text)
{
    (void)fprintf(text->out, "%*s ", INDEX_WIDTH - 1, "");
    put_name(text, "launch, times in µs", name_width(text));
    (void)fprintf(text->out, "%10s%10s%10s%10s%10s\n", "start", "end", "blocked", "triggered",
                  "blocks");
}

/* `number`: in its track. */
static void put_launch(const struct text *text, uint32_t index, uint32_t number)
{
    const struct pdl_timeline_launch *launch = &text->timeline->launches[index];
    (void)fprintf(text->out, "%*u ", INDEX_WIDTH - 1, (unsigned)number);
    put_name(text, text->timeline->kernels.names[launch->kernel], name_width(text));
    put_us(text, launch->start_ns, launch->blocks > 0);
    put_us(text, launch->end_ns, launch->blocks > 0);
    put_us(text, pdl_timeline_blocked(launch), launch->wait_ns != PDL_TIMELINE_NONE);
    put_us(text, launch->triggered_ns, launch->triggered_ns != PDL_TIMELINE_NONE);
    (void)fprintf(text->out, "%*llu\n", NUMBER_WIDTH, (unsigned long long)launch->blocks);
}

static pdl_status put_track(const struct text *text, uint32_t track)
{
    char sentence[PDL_TIMELINE_SENTENCE];
    const char *const name = text->timeline->tracks.names[track];
    const pdl_status status = pdl_timeline_describe(text->timeline, track, sentence);
    uint32_t number = 0;
    if (status != PDL_SUCCESS) {
        return status;
    }
    pdl_text_put_shown(text->out, name, LINE_MOST);
    (void)fputs(name[0] != '\0' ? ": " : "", text->out);
    put_line(text, sentence);
    PDL_TIMELINE_EACH(text->timeline, track, i)
    {
        if (number < LAUNCHES_MOST) {
            put_launch(text, i, number);
        }
        number++;
    }
    if (number > LAUNCHES_MOST) {
        (void)fprintf(text->out, "%*s … %u launches more\n", INDEX_WIDTH - 1, "",
                      (unsigned)number - LAUNCHES_MOST);
    }
    return PDL_SUCCESS;
}

/* ---- the picture ------------------------------------------------------------------------------ */

static uint32_t label_width(const struct text *text)
{
    return text->columns / 5 < LABEL_MOST ? text->columns / 5 : LABEL_MOST;
}

/* The number of cells from the start to a time, which is rounded. */
static uint32_t cell_of(const struct text *text, int64_t time_ns)
{
    const double share =
        (double)(time_ns - text->start_ns) / (double)(text->end_ns - text->start_ns);
    return (uint32_t)(share * (text->columns - label_width(text)) + 0.5);
}

static void put_row(const struct text *text, uint32_t launch, uint32_t number)
{
    /* Dotted, light, full, half: told apart without colours. */
    static const uint32_t characters[PDL_PHASES + 1] = {
        [PDL_BEFORE_WAIT] = 0x2591, [PDL_WAITING] = 0xb7, [PDL_RUNNING] = 0x2588,
        [PDL_TRIGGERED] = 0x2592,   [PDL_PHASES] = ' ',
    };
    const uint32_t cells = text->columns - label_width(text);
    const pdl_timeline_block times = pdl_timeline_whole(text->timeline, launch);
    const char *name = text->timeline->kernels.names[text->timeline->launches[launch].kernel];
    struct pdl_piece pieces[PDL_PHASES];
    const unsigned count = pdl_pieces(&times, pieces);
    uint32_t cell = 0;
    (void)fprintf(text->out, "%*u ", INDEX_WIDTH - 1, (unsigned)number);
    put_name(text, name, label_width(text) - INDEX_WIDTH - 1);
    (void)fputc(' ', text->out);
    uint32_t first = cell_of(text, times.start_ns);
    first = first < cells ? first : cells - 1;
    for (; cell < first; cell++) {
        pdl_text_put(text->out, ' ');
    }
    for (unsigned i = 0; i < count; i++) {
        const bool last = i + 1 == count;
        for (const uint32_t end = cell_of(text, pieces[i].end_ns);
             cell < end || (last && cell == first); cell++) {
            pdl_text_put(text->out, characters[pieces[i].phase]);
        }
    }
    for (; cell < cells; cell++) {
        pdl_text_put(text->out, ' ');
    }
    (void)fputc('\n', text->out);
}

/* Numbers and marks at round times. */
static void put_axis(const struct text *text)
{
    const uint32_t cells = text->columns - label_width(text);
    const int64_t step = pdl_axis_step(text->end_ns - text->start_ns, cells / 9);
    const int64_t first = pdl_axis_tick(text->start_ns, step);
    char numbers[COLUMNS_MOST];
    char marks[COLUMNS_MOST];
    uint32_t free_from = 0;
    memset(numbers, ' ', sizeof(numbers));
    memset(marks, '-', sizeof(marks));
    for (int64_t i = 0; i <= (text->end_ns - first) / step; i++) {
        char us[PDL_MICROSECONDS];
        const uint32_t cell = cell_of(text, first + i * step);
        const size_t length = strlen(pdl_microseconds(first + i * step, -1, us));
        if (cell < cells) {
            marks[cell] = '+';
        }
        if (cell >= free_from && cell + length <= cells) {
            memcpy(numbers + cell, us, length);
            free_from = cell + (uint32_t)length + 1;
        }
    }
    put_name(text, "  µs", label_width(text));
    (void)fprintf(text->out, "%.*s\n", (int)cells, numbers);
    put_name(text, "", label_width(text));
    (void)fprintf(text->out, "%.*s\n", (int)cells, marks);
}

static void put_picture(const struct text *text)
{
    put_axis(text);
    for (uint32_t track = 0; track < text->timeline->tracks.count; track++) {
        uint32_t number = 0;
        if (text->timeline->tracks.names[track][0] != '\0') {
            put_line(text, text->timeline->tracks.names[track]);
        }
        PDL_TIMELINE_EACH(text->timeline, track, i)
        {
            if (number < LAUNCHES_MOST && text->timeline->launches[i].blocks > 0) {
                put_row(text, i, number);
            }
            number++;
        }
    }
    (void)fputs("\n░ before the wait, · waiting, █ running, ▒ after the trigger\n", text->out);
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* The span of the launches that are shown; false if none has blocks. */
static bool find_span(struct text *text)
{
    bool found = false;
    for (uint32_t track = 0; track < text->timeline->tracks.count; track++) {
        uint32_t number = 0;
        PDL_TIMELINE_EACH(text->timeline, track, i)
        {
            const struct pdl_timeline_launch *const launch = &text->timeline->launches[i];
            if (number++ >= LAUNCHES_MOST) {
                break;
            }
            if (launch->blocks > 0) {
                text->start_ns =
                    found && text->start_ns < launch->start_ns ? text->start_ns : launch->start_ns;
                text->end_ns =
                    found && text->end_ns > launch->end_ns ? text->end_ns : launch->end_ns;
                found = true;
            }
        }
    }
    text->digits = pdl_timeline_digits(text->end_ns - text->start_ns);
    text->end_ns += text->end_ns == text->start_ns;
    text->start_ns = pdl_axis_start(text->start_ns, text->end_ns);
    return found;
}

pdl_status pdl_timeline_write_text(const struct pdl_timeline *timeline, FILE *out, uint32_t columns)
{
    struct text text = {.timeline = timeline, .out = out, .columns = columns};
    char sentence[PDL_TIMELINE_SENTENCE];
    const bool compared = pdl_timeline_compare(timeline, sentence);
    if (compared) {
        put_line(&text, sentence);
    }
    for (uint32_t i = 0; i < timeline->notes.count; i++) {
        put_line(&text, timeline->notes.names[i]);
    }
    if (timeline->lost > 0) {
        pdl_timeline_describe_lost(timeline, sentence);
        put_line(&text, sentence);
    }
    if (!find_span(&text)) {
        put_line(&text, "no blocks");
        return PDL_SUCCESS;
    }
    if (compared || timeline->notes.count > 0) {
        (void)fputc('\n', out);
    }
    put_heads(&text);
    for (uint32_t track = 0; track < timeline->tracks.count; track++) {
        const pdl_status status = put_track(&text, track);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    (void)fputc('\n', out);
    put_picture(&text);
    return PDL_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/* A timeline as text: how its tracks compare, a table of launches, and a picture of characters. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "trace/timeline_forms.h"

/* Longer lists are cut: so many lines a track, and so many rows of the picture. */
#define LINES_MOST 40
#define ROWS_MOST  24

struct text {
    const struct pdl_timeline *timeline;
    FILE *out;
    uint32_t columns;
    uint32_t column; /* where the line stands */
    bool words;      /* the line has words, beside its indentation */
    int digits;      /* of microseconds, after the point */
    int64_t start_ns;
    int64_t end_ns;
    int64_t zero_ns; /* shown as 0 */
};

/* ---- lines ---------------------------------------------------------------------------------- */

static uint32_t length_of(const char *string)
{
    struct pdl_text_shown shown = pdl_text_show(string);
    uint32_t length = 0;
    while (pdl_text_shown_next(&shown) != 0) {
        length++;
    }
    return length;
}

/* In just so many columns, cut or filled up. */
static void put_name(struct text *text, const char *name, uint32_t width)
{
    const bool cut = length_of(name) > width;
    struct pdl_text_shown shown = pdl_text_show(name);
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t c = pdl_text_shown_next(&shown);
        pdl_text_put(text->out, cut && i + 1 == width ? 0x2026 : c != 0 ? c : ' ');
    }
}

static void next_line(struct text *text)
{
    (void)fputs("\n  ", text->out);
    text->column = 2;
    text->words = false;
}

/* The next words of a paragraph, in the next line if this one has no room. They hold no spaces that
 * a line may break at but those between calls. */
__attribute__((format(printf, 2, 3))) static void put_words(struct text *text, const char *format,
                                                            ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    if (text->words && text->column + 1 + length_of(words) > text->columns) {
        next_line(text);
    } else if (text->words) {
        (void)fputc(' ', text->out);
        text->column++;
    }
    text->words = true;
    struct pdl_text_shown shown = pdl_text_show(words);
    for (uint32_t c = pdl_text_shown_next(&shown); c != 0; c = pdl_text_shown_next(&shown)) {
        if (text->column == text->columns) { /* longer than a line */
            next_line(text);
        }
        pdl_text_put(text->out, c);
        text->column++;
    }
}

static void end_paragraph(struct text *text)
{
    (void)fputc('\n', text->out);
    text->column = 0;
    text->words = false;
}

/* Word by word. */
static void put_sentence(struct text *text, const char *sentence)
{
    while (*sentence != '\0') {
        const size_t length = strcspn(sentence, " ");
        put_words(text, "%.*s", (int)length, sentence);
        sentence += length;
        sentence += strspn(sentence, " ");
    }
    end_paragraph(text);
}

/* ---- a track in numbers ---------------------------------------------------------------------- */

static uint32_t permille(double share)
{
    return (uint32_t)(share * 1000 + 0.5);
}

static void put_summary(struct text *text, uint32_t track, const pdl_timeline_summary *summary)
{
    char us[PDL_TIMELINE_NUMBER];
    const uint32_t shared = permille(summary->overlap_share);
    const uint32_t sms = permille(summary->sm_share);
    const char *name = text->timeline->tracks.names[track];
    if (name[0] != '\0') {
        put_words(text, "%.400s:", name);
    }
    put_words(text, "%s µs,", pdl_timeline_us(summary->span_ns, text->digits, us));
    put_words(text, "overlap %s µs (%u.%u %%),",
              pdl_timeline_us(summary->overlap_ns, text->digits, us), shared / 10, shared % 10);
    put_words(text, "gaps %s µs,", pdl_timeline_us(summary->gap_ns, text->digits, us));
    put_words(text, "SMs busy %u.%u %%", sms / 10, sms % 10);
    end_paragraph(text);
}

/* ---- a line per launch -------------------------------------------------------------------------- */

#define NUMBER_WIDTH 10
#define INDEX_WIDTH  5

/* How many of the columns have room: start, end, blocked, triggered, blocks. */
static uint32_t numbers_in(const struct text *text)
{
    const uint32_t room = (text->columns - INDEX_WIDTH - 12) / NUMBER_WIDTH;
    return room < 5 ? room : 5;
}

static void put_us(const struct text *text, int64_t time_ns, bool known)
{
    char us[PDL_TIMELINE_NUMBER];
    const char *shown = known ? pdl_timeline_us(time_ns, text->digits, us) : "-";
    (void)fprintf(text->out, "%*s", NUMBER_WIDTH,
                  strlen(shown) < NUMBER_WIDTH ? shown : "********");
}

/* `number`: in its track. */
static void put_launch(struct text *text, uint32_t index, uint32_t number)
{
    const struct pdl_timeline_launch *launch = &text->timeline->launches[index];
    const uint32_t numbers = numbers_in(text);
    (void)fprintf(text->out, "%*u ", INDEX_WIDTH - 1, number);
    put_name(text, text->timeline->kernels.names[launch->kernel],
             text->columns - INDEX_WIDTH - numbers * NUMBER_WIDTH);
    put_us(text, launch->start_ns - text->zero_ns, launch->blocks > 0);
    put_us(text, launch->end_ns - text->zero_ns, launch->blocks > 0);
    if (numbers > 2) {
        put_us(text, pdl_timeline_blocked(launch), launch->waits > 0);
    }
    if (numbers > 3) {
        put_us(text, launch->triggers > 0 ? launch->triggered_ns - text->zero_ns : 0,
               launch->triggers > 0);
    }
    if (numbers > 4) {
        (void)fprintf(text->out, "%*llu", NUMBER_WIDTH, (unsigned long long)launch->blocks);
    }
    (void)fputc('\n', text->out);
}

static void put_heads(struct text *text)
{
    static const char *const heads[] = {"start", "end", "blocked", "triggered", "blocks"};
    const uint32_t numbers = numbers_in(text);
    (void)fprintf(text->out, "%*s ", INDEX_WIDTH - 1, "");
    put_name(text, "launch, times in µs", text->columns - INDEX_WIDTH - numbers * NUMBER_WIDTH);
    for (uint32_t i = 0; i < numbers; i++) {
        (void)fprintf(text->out, "%*s", NUMBER_WIDTH, heads[i]);
    }
    (void)fputc('\n', text->out);
}

static void put_launches(struct text *text, uint32_t track)
{
    uint32_t all = 0;
    uint32_t seen = 0;
    PDL_TIMELINE_EACH(text->timeline, track, i)
    {
        all++;
    }
    PDL_TIMELINE_EACH(text->timeline, track, i)
    {
        const uint32_t half = LINES_MOST / 2;
        if (all <= LINES_MOST || seen < half || seen >= all - half) {
            put_launch(text, i, seen);
        } else if (seen == half) {
            (void)fprintf(text->out, "%*s … %u launches more\n", INDEX_WIDTH - 1, "",
                          all - LINES_MOST);
        }
        seen++;
    }
}

/* ---- the picture ------------------------------------------------------------------------------ */

struct picture {
    struct pdl_timeline_cells cells; /* all rows of a track */
    uint32_t label_width;
    uint32_t rows;
    uint32_t *first_of; /* of each row: its first launch */
    uint32_t *number;   /* of each row: the number of that launch in its track */
    bool by_kernel;
};

/* Dotted, light, full, half: told apart without colours. */
static const uint32_t phase_characters[PDL_TIMELINE_PHASES + 1] = {
    [PDL_TIMELINE_BEFORE_WAIT] = 0x2591, [PDL_TIMELINE_WAITING] = 0xb7,
    [PDL_TIMELINE_RUNNING] = 0x2588,     [PDL_TIMELINE_TRIGGERED] = 0x2592,
    [PDL_TIMELINE_PHASES] = ' ',
};

static pdl_status make_picture(const struct text *text, struct picture *picture)
{
    uint32_t label = text->columns / 5;
    label = label < 10 ? 10 : label > 24 ? 24 : label;
    *picture = (struct picture){.label_width = label};
    picture->cells.cells = text->columns - label;
    picture->cells.start_ns = text->start_ns;
    picture->cells.end_ns = text->end_ns;
    picture->first_of = calloc(ROWS_MOST, sizeof(*picture->first_of));
    picture->number = calloc(ROWS_MOST, sizeof(*picture->number));
    picture->cells.times = calloc((size_t)ROWS_MOST * picture->cells.cells * PDL_TIMELINE_PHASES,
                                  sizeof(*picture->cells.times));
    if (picture->first_of == NULL || picture->number == NULL || picture->cells.times == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a picture of %d rows", ROWS_MOST);
    }
    return PDL_SUCCESS;
}

static void free_picture(struct picture *picture)
{
    free(picture->cells.times);
    free(picture->number);
    free(picture->first_of);
}

/* The row of a launch, which is added if it is new; what is over is in the last row. */
static uint32_t row_of(const struct pdl_timeline *timeline, struct picture *picture,
                       uint32_t launch, uint32_t number)
{
    for (uint32_t row = 0; picture->by_kernel && row < picture->rows; row++) {
        if (timeline->launches[picture->first_of[row]].kernel ==
            timeline->launches[launch].kernel) {
            return row;
        }
    }
    if (picture->rows < ROWS_MOST) {
        picture->number[picture->rows] = number;
        picture->first_of[picture->rows++] = launch;
    }
    return picture->rows - 1;
}

/* A row per launch, or per kernel where there are too many launches. */
static void fill_rows(const struct pdl_timeline *timeline, uint32_t track, struct picture *picture)
{
    const size_t row_size = (size_t)picture->cells.cells * PDL_TIMELINE_PHASES;
    uint32_t launches = 0;
    memset(picture->cells.times, 0, sizeof(*picture->cells.times) * picture->rows * row_size);
    picture->rows = 0;
    PDL_TIMELINE_EACH(timeline, track, i)
    {
        launches += timeline->launches[i].blocks > 0;
    }
    picture->by_kernel = launches > ROWS_MOST;
    uint32_t number = 0;
    PDL_TIMELINE_EACH(timeline, track, i)
    {
        if (timeline->launches[i].blocks > 0) {
            pdl_timeline_fill(timeline, i, &picture->cells, row_of(timeline, picture, i, number));
        }
        number++;
    }
}

static void put_row(struct text *text, const struct picture *picture, uint32_t row)
{
    const uint32_t first = picture->first_of[row];
    const char *name = text->timeline->kernels.names[text->timeline->launches[first].kernel];
    if (picture->by_kernel) {
        (void)fputs("  ", text->out);
        put_name(text, name, picture->label_width - 3);
    } else {
        (void)fprintf(text->out, "%*u ", INDEX_WIDTH - 1, picture->number[row]);
        put_name(text, name, picture->label_width - INDEX_WIDTH - 1);
    }
    (void)fputc(' ', text->out);
    for (uint32_t cell = 0; cell < picture->cells.cells; cell++) {
        pdl_text_put(text->out,
                     phase_characters[pdl_timeline_cell_phase(&picture->cells, row, cell)]);
    }
    (void)fputc('\n', text->out);
}

/* The share of the SMs in which a block ran, in eighths. */
static pdl_status put_sms(struct text *text, const struct picture *picture, uint32_t track)
{
    const uint32_t cells = picture->cells.cells;
    const double width = (double)(text->end_ns - text->start_ns) / cells;
    uint32_t sms = 0;
    double *busy = calloc(cells, sizeof(*busy));
    pdl_status status = PDL_SUCCESS;
    if (busy == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a row of %u cells",
                        (unsigned)cells);
    }
    status = pdl_timeline_sm_cells(text->timeline, track, text->start_ns, text->end_ns, cells, busy,
                                   &sms);
    if (status == PDL_SUCCESS) {
        put_name(text, "  SMs busy", picture->label_width - 1);
        (void)fputc(' ', text->out);
        for (uint32_t cell = 0; cell < cells; cell++) {
            const double share = busy[cell] / (width * sms);
            const uint32_t eighths = (uint32_t)(share * 8 + 0.5);
            const uint32_t shown = share > 0 && eighths == 0 ? 1 : eighths < 8 ? eighths : 8;
            pdl_text_put(text->out, shown == 0 ? ' ' : 0x2580 + shown);
        }
        (void)fputc('\n', text->out);
    }
    free(busy);
    return status;
}

/* Numbers and marks at round times. */
static void put_axis(struct text *text, const struct picture *picture)
{
    const uint32_t cells = picture->cells.cells;
    const int64_t span = text->end_ns - text->start_ns;
    const int64_t start = text->start_ns - text->zero_ns;
    const int64_t end = text->end_ns - text->zero_ns;
    const int64_t step = pdl_timeline_step(span, cells / 9);
    char us[PDL_TIMELINE_NUMBER];
    char numbers[512];
    char marks[512];
    memset(numbers, ' ', sizeof(numbers));
    memset(marks, '-', sizeof(marks));
    uint32_t free_from = 0;
    const int64_t first = pdl_timeline_first_tick(start, step);
    for (int64_t i = 0; i <= (end - first) / step; i++) {
        const int64_t tick = first + i * step;
        const uint32_t cell = (uint32_t)((double)(tick - start) / (double)span * cells);
        const size_t length = strlen(pdl_timeline_us(tick, -1, us));
        if (cell >= cells) {
            break;
        }
        marks[cell] = '+';
        if (cell >= free_from && cell + length <= cells) {
            memcpy(numbers + cell, us, length);
            free_from = cell + (uint32_t)length + 1;
        }
    }
    put_name(text, "  µs", picture->label_width);
    (void)fprintf(text->out, "%.*s\n", (int)cells, numbers);
    put_name(text, "", picture->label_width);
    (void)fprintf(text->out, "%.*s\n", (int)cells, marks);
}

static pdl_status put_picture(struct text *text)
{
    struct picture picture;
    bool by_kernel = false;
    pdl_status status = make_picture(text, &picture);
    if (status != PDL_SUCCESS) {
        goto done;
    }
    put_axis(text, &picture);
    for (uint32_t track = 0; track < text->timeline->tracks.count; track++) {
        int64_t start;
        int64_t end;
        if (!pdl_timeline_span(text->timeline, track, &start, &end)) {
            continue;
        }
        fill_rows(text->timeline, track, &picture);
        by_kernel = by_kernel || picture.by_kernel;
        if (text->timeline->tracks.names[track][0] != '\0') {
            put_words(text, "%.400s", text->timeline->tracks.names[track]);
            end_paragraph(text);
        }
        for (uint32_t row = 0; row < picture.rows; row++) {
            put_row(text, &picture, row);
        }
        status = put_sms(text, &picture, track);
        if (status != PDL_SUCCESS) {
            goto done;
        }
    }
    (void)fputc('\n', text->out);
    put_words(text, "░ before the wait,");
    put_words(text, "· waiting,");
    put_words(text, "█ running,");
    put_words(text, "▒ after the trigger:");
    put_words(text, "what most blocks do");
    if (by_kernel) {
        put_words(text, "(one row per kernel)");
    }
    end_paragraph(text);

done:
    free_picture(&picture);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------- */

pdl_status pdl_timeline_write_text(const struct pdl_timeline *timeline, FILE *out, uint32_t columns)
{
    struct text text = {.timeline = timeline, .out = out, .columns = columns};
    char figures[PDL_TIMELINE_FIGURES];
    const bool compared = pdl_timeline_compare(timeline, figures);
    if (compared) {
        put_words(&text, "%.400s:", pdl_timeline_compared(timeline));
        put_sentence(&text, figures);
    }
    for (uint32_t i = 0; i < timeline->notes.count; i++) {
        put_sentence(&text, timeline->notes.names[i]);
    }
    if (timeline->lost > 0) {
        put_words(&text, "The stamps of %llu %s", (unsigned long long)timeline->lost,
                  timeline->lost == 1 ? "block" : "blocks");
        put_sentence(&text, "were lost.");
    }
    if (!pdl_timeline_axis(timeline, &text.start_ns, &text.end_ns)) {
        (void)fputs("no blocks\n", out);
        return PDL_SUCCESS;
    }
    text.zero_ns = pdl_timeline_zero(text.start_ns);
    if (text.zero_ns != 0) {
        char us[PDL_TIMELINE_NUMBER];
        put_words(&text, "Times are from %s µs on.", pdl_timeline_us(text.zero_ns, 3, us));
        end_paragraph(&text);
    }
    text.digits = text.end_ns - text.start_ns < INT64_C(10000000) ? 2 : 0;
    if (compared || timeline->notes.count > 0) {
        (void)fputc('\n', out);
    }
    put_heads(&text);
    for (uint32_t track = 0; track < timeline->tracks.count; track++) {
        pdl_timeline_summary summary;
        const pdl_status status = pdl_timeline_measure(timeline, track, &summary);
        if (status != PDL_SUCCESS) {
            return status;
        }
        put_summary(&text, track, &summary);
        put_launches(&text, track);
    }
    (void)fputc('\n', out);
    return put_picture(&text);
}

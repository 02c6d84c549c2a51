/* SPDX-License-Identifier: MIT */
/* Pictures of launches. Lengths are tenths of a pixel: whole numbers, since printf's others may have a comma. */
#include "trace/picture.h"

#include <inttypes.h>

#include "trace/text.h"

enum {
    WIDTH = 12000,
    LEFT = 1000, /* of the plot */
    RIGHT = 11800,
    PLOT = RIGHT - LEFT,
    MARGIN = 600, /* without rows, there are no numbers of SMs at the left */
    TITLE = 320,
    NOTE = 240,
    LEGEND = 240,
    HEADING = 480, /* of a track */
    GAP = 100,     /* above a launch's bar, with the mark of its trigger */
    BAR = 300,
    LANE = GAP + BAR,
    BELOW = 260,
    LANES = 12,  /* of launches: more share the last */
    ROWS = 5600, /* height of all rows, where that makes none too low or too high */
    LETTER = 90, /* width of a letter, roughly */
    LEGEND_MOST = 24,
    LEGEND_NAME = 54, /* characters */
    COLOURS = 7
};

struct drawing {
    const struct pdl_picture *picture;
    FILE *out;
    int row_height;
    int row_filled; /* the rest of the height separates it from the next */
    uint32_t row_lanes;
    bool phases; /* launches wait or trigger */
};

/* ---- style ------------------------------------------------------------------------------------ */

/* Colours that the colour-blind can tell apart (Okabe and Ito), their lightness moved for each background; black for
 * their last, as a grey. No CSS variables, which only browsers know. */
static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,sans-serif;font-size:160px}\n"
    ".s,.n{font-size:150px}.h{font-size:180px}.head{font-size:220px}.h,.n{font-weight:600}\n"
    ".e{text-anchor:end}.m{text-anchor:middle}\n"
    ".n{stroke-width:30px;stroke-linejoin:round}.n,.mark{paint-order:stroke}\n"
    ".mark,.grid,.tick{stroke-width:10px}.b{opacity:.5}\n"
    ".w0{fill:url(#w0)}.w1{fill:url(#w1)}.w2{fill:url(#w2)}.w3{fill:url(#w3)}\n"
    ".w4{fill:url(#w4)}.w5{fill:url(#w5)}.w6{fill:url(#w6)}\n"
    ".bg{fill:#fff}.area{fill:#f3f4f6}.t,.h{fill:#1b1f24}.s{fill:#57606a}\n"
    ".n,.mark{fill:#1b1f24;stroke:#fff}.grid{stroke:#d0d7de}.tick{stroke:#1b1f24}\n"
    ".k0{fill:#0072b2}.k1{fill:#e69f00}.k2{fill:#009e73}.k3{fill:#cc79a7}\n"
    ".k4{fill:#d55e00}.k5{fill:#56b4e9}.k6{fill:#6b7280}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".bg{fill:#0f1318}.area{fill:#1a2029}.t,.h{fill:#e6edf3}.s{fill:#9da7b3}\n"
    ".n,.mark{fill:#e6edf3;stroke:#0f1318}.grid{stroke:#343c47}.tick{stroke:#e6edf3}\n"
    ".k0{fill:#3d9fe0}.k1{fill:#f0b429}.k2{fill:#2cc295}.k3{fill:#e39ac4}\n"
    ".k4{fill:#ee7733}.k5{fill:#8fd0f7}.k6{fill:#a3aab5}}\n"
    "</style>\n";

static void put_style(FILE *out)
{
    (void)fprintf(out, "%s<defs>\n", style);
    for (unsigned i = 0; i < COLOURS; i++) {
        (void)fprintf(out,
                      "<pattern id=\"w%u\" width=\"60\" height=\"60\" "
                      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                      "<rect class=\"k%u\" width=\"60\" height=\"60\" opacity=\".15\"/>"
                      "<rect class=\"k%u\" width=\"20\" height=\"60\"/></pattern>\n",
                      i, i, i);
    }
    (void)fputs("</defs>\n", out);
}

/* ---- shapes ----------------------------------------------------------------------------------- */

static int x_of(const struct pdl_picture *picture, int64_t time_ns)
{
    const double span = (double)(picture->end_ns - picture->start_ns);
    return LEFT + (int)((double)(time_ns - picture->start_ns) / span * PLOT + 0.5);
}

static void put_text(FILE *out, int x, int y, const char *class, const char *text, size_t most)
{
    (void)fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    pdl_text_put_xml(out, text, most);
    (void)fputs("</text>\n", out);
}

/* Nothing is so short that it cannot be seen. */
static void put_box(FILE *out, const char *class, int x, int y, int width, int height)
{
    (void)fprintf(out, "<path class=\"%s\" d=\"M%d %dh%dv%dH%dz\"/>\n", class, x, y,
                  width < 3 ? 3 : width, height, x);
}

static void put_mark(FILE *out, int x, int y)
{
    (void)fprintf(out, "<path class=\"mark\" d=\"M%d %dh100l-50 90z\"/>\n", x - 50, y);
}

/* The trigger has its own mark, and the colour goes on. */
static void put_pieces(const struct drawing *drawing, const struct pdl_picture_bar *bar, int y,
                       int height)
{
    struct pdl_piece pieces[PDL_PHASES];
    const unsigned count = pdl_pieces(&bar->times, pieces);
    for (unsigned i = 0; i < count; i++) {
        const bool last = pieces[i].phase >= PDL_RUNNING;
        const int x = x_of(drawing->picture, pieces[i].start_ns);
        const int end = x_of(drawing->picture, last ? bar->times.end_ns : pieces[i].end_ns);
        char class[16];
        (void)snprintf(class, sizeof(class), "%c%u%s", pieces[i].phase == PDL_WAITING ? 'w' : 'k',
                       (unsigned)(bar->kernel % COLOURS),
                       pieces[i].phase == PDL_BEFORE_WAIT ? " b" : "");
        put_box(drawing->out, class, x, y, end - x, height);
        if (last) {
            break;
        }
    }
}

/* ---- bars ------------------------------------------------------------------------------------- */

static uint32_t lane_of(const struct pdl_picture_bar *bar)
{
    return bar->lane < LANES ? bar->lane : LANES - 1;
}

static int lanes_height(const struct pdl_picture_track *track)
{
    return (int)track->lanes * LANE + GAP;
}

static void put_launch(const struct drawing *drawing, const struct pdl_picture_bar *bar)
{
    FILE *const out = drawing->out;
    const struct pdl_picture *const picture = drawing->picture;
    const char *const name = picture->kernels[bar->kernel];
    const int y = picture->tracks[bar->track].y + HEADING + (int)lane_of(bar) * LANE + GAP;
    const int x = x_of(picture, bar->times.start_ns);
    const int width = x_of(picture, bar->times.end_ns) - x;
    (void)fputs("<g><title>", out);
    if (bar->title != NULL) {
        pdl_text_put_xml(out, bar->title, 500);
    } else {
        char us[PDL_MICROSECONDS];
        const int64_t time = bar->times.end_ns - bar->times.start_ns;
        pdl_text_put_xml(out, name, 300);
        (void)fprintf(out, ", %s µs", pdl_microseconds(time, 2, us));
    }
    (void)fputs("</title>\n", out);
    put_pieces(drawing, bar, y, BAR);
    if (width > 3 * LETTER) {
        put_text(out, x + 40, y + BAR / 2 + 50, "n", name, (size_t)(width / LETTER));
    }
    if (bar->times.triggered_ns != PDL_TIMELINE_NONE) {
        put_mark(out, x_of(picture, bar->times.triggered_ns), y - 60);
    }
    (void)fputs("</g>\n", out);
}

static void put_block(const struct drawing *drawing, const struct pdl_picture_bar *bar)
{
    const struct pdl_picture_track *const track = &drawing->picture->tracks[bar->track];
    const int share = drawing->row_filled / (int)drawing->row_lanes;
    const int height = share > 0 ? share : 1;
    const int y = track->y + HEADING + lanes_height(track) +
                  (int)(bar->row - 1) * drawing->row_height + (int)bar->lane * height;
    put_pieces(drawing, bar, y, height);
    if (bar->times.triggered_ns != PDL_TIMELINE_NONE) {
        (void)fprintf(drawing->out, "<path class=\"tick\" d=\"M%d %dv%d\"/>\n",
                      x_of(drawing->picture, bar->times.triggered_ns), y, height);
    }
}

/* ---- the frame -------------------------------------------------------------------------------- */

/* Returns the y of what follows. */
static int put_notes(const struct drawing *drawing)
{
    const struct pdl_picture *const picture = drawing->picture;
    int y = 300;
    if (picture->title != NULL) {
        put_text(drawing->out, LEFT, y, "h head", picture->title, 200);
        y += TITLE;
    }
    for (uint32_t i = 0; i < picture->note_count; i++) {
        put_text(drawing->out, LEFT, y, "t", picture->notes[i], 120);
        y += NOTE;
    }
    return y - 110;
}

/* The kernels in two columns, then what the patterns mean. */
static int legend_height(const struct drawing *drawing)
{
    const uint32_t count = drawing->picture->kernel_count;
    const uint32_t kernels = count < LEGEND_MOST ? count : LEGEND_MOST;
    return ((int)(kernels + 1) / 2 + drawing->phases) * LEGEND + GAP;
}

static void put_legend(const struct drawing *drawing, int y)
{
    static const struct {
        const char *class;
        const char *name;
    } phases[] = {{"k6 b", "before the wait"}, {"w6", "waiting"}, {"k6", "running"}};
    FILE *const out = drawing->out;
    int x = LEFT;
    for (uint32_t i = 0; i < drawing->picture->kernel_count && i < LEGEND_MOST; i++) {
        char class[8];
        (void)snprintf(class, sizeof(class), "k%u", (unsigned)(i % COLOURS));
        x = LEFT + (int)(i % 2) * PLOT / 2;
        y += i > 0 && i % 2 == 0 ? LEGEND : 0;
        put_box(out, class, x, y, 180, 120);
        put_text(out, x + 240, y + 110, "t", drawing->picture->kernels[i], LEGEND_NAME);
    }
    if (!drawing->phases) {
        return;
    }
    y += LEGEND;
    x = LEFT;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        put_box(out, phases[i].class, x, y, 180, 120);
        put_text(out, x + 240, y + 110, "s", phases[i].name, LEGEND_NAME);
        x += i == 0 ? 1600 : 1100;
    }
    put_mark(out, x + 80, y + 10);
    put_text(out, x + 200, y + 110, "s",
             "the last trigger of a launch: from then on the next one may start", 100);
}

static void put_axis(const struct drawing *drawing, int top, int bottom)
{
    const struct pdl_picture *const picture = drawing->picture;
    const int64_t step = pdl_axis_step(picture->end_ns - picture->start_ns, 14);
    const int64_t first = pdl_axis_tick(picture->start_ns, step);
    for (int64_t i = 0; i <= (picture->end_ns - first) / step; i++) {
        char us[PDL_MICROSECONDS];
        char label[PDL_MICROSECONDS + 8];
        const int x = x_of(picture, first + i * step);
        (void)snprintf(label, sizeof(label), "%s%s", pdl_microseconds(first + i * step, -1, us),
                       i == 0 ? " µs" : "");
        (void)fprintf(drawing->out, "<path class=\"grid\" d=\"M%d %dV%d\"/>\n", x, top, bottom);
        put_text(drawing->out, x, top - 60, "s m", label, sizeof(label));
        put_text(drawing->out, x, bottom + 170, "s m", label, sizeof(label));
    }
}

/* Every so many SMs, so that numbers do not touch. */
static void put_sms(const struct drawing *drawing, int y)
{
    const struct pdl_picture *const picture = drawing->picture;
    const int most = (int)picture->rows * drawing->row_height / 180 + 1;
    const int64_t every = pdl_axis_step(picture->rows, most);
    for (uint32_t i = 0; i < picture->rows; i += (uint32_t)every) {
        char label[24];
        (void)snprintf(label, sizeof(label), "SM %" PRIu32, picture->sms[i]);
        put_text(drawing->out, LEFT - 80, y + (int)i * drawing->row_height + 110, "s e", label,
                 sizeof(label));
    }
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* What the bars need. */
static void measure(struct drawing *drawing)
{
    const struct pdl_picture *const picture = drawing->picture;
    const int height = ROWS / (int)(picture->rows + 1);
    drawing->row_height = height < 30 ? 30 : height > 200 ? 200 : height;
    drawing->row_filled = drawing->row_height < 80 ? drawing->row_height : drawing->row_height - 20;
    drawing->row_lanes = 1;
    for (uint32_t i = 0; i < picture->track_count; i++) {
        picture->tracks[i].lanes = 0;
    }
    for (size_t i = 0; i < picture->bar_count; i++) {
        const struct pdl_picture_bar *const bar = &picture->bars[i];
        uint32_t *const lanes =
            bar->row > 0 ? &drawing->row_lanes : &picture->tracks[bar->track].lanes;
        const uint32_t lane = bar->row > 0 ? bar->lane : lane_of(bar);
        *lanes = lane < *lanes ? *lanes : lane + 1;
        drawing->phases = drawing->phases || bar->times.wait_ns != PDL_TIMELINE_NONE ||
                          bar->times.triggered_ns != PDL_TIMELINE_NONE;
    }
}

/* Returns the y below the last. */
static int place_tracks(const struct drawing *drawing, int y)
{
    for (uint32_t i = 0; i < drawing->picture->track_count; i++) {
        struct pdl_picture_track *const track = &drawing->picture->tracks[i];
        track->y = y;
        y += track->lanes == 0 ? 0
                               : HEADING + lanes_height(track) +
                                     (int)drawing->picture->rows * drawing->row_height + BELOW;
    }
    return y;
}

static void put_track(const struct drawing *drawing, const struct pdl_picture_track *track)
{
    FILE *const out = drawing->out;
    const int y = track->y + HEADING;
    const int rows = (int)drawing->picture->rows * drawing->row_height;
    put_text(out, LEFT, track->y + 180, "h", track->name, 100);
    put_text(out, LEFT, track->y + 380, "s", track->summary, sizeof(track->summary));
    put_box(out, "area", LEFT, y, PLOT, lanes_height(track) + rows);
    put_sms(drawing, y + lanes_height(track));
}

void pdl_picture_write(const struct pdl_picture *picture, FILE *out)
{
    struct drawing drawing = {.picture = picture, .out = out};
    measure(&drawing);
    const int margin = picture->rows > 0 ? 0 : MARGIN;
    const int notes = 190 + (picture->title != NULL ? TITLE : 0) + (int)picture->note_count * NOTE;
    const int top = notes + legend_height(&drawing) + 240;
    const int bottom = place_tracks(&drawing, top);
    const int height = bottom + 60;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%d 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" role=\"img\">\n<title>",
                  margin, WIDTH - margin, height, (WIDTH - margin) / 10, height / 10);
    pdl_text_put_xml(out, picture->title != NULL ? picture->title : "Timeline", 200);
    (void)fputs("</title>\n", out);
    put_style(out);
    put_box(out, "bg", 0, 0, WIDTH, height);
    put_legend(&drawing, put_notes(&drawing));
    for (uint32_t i = 0; i < picture->track_count; i++) {
        if (picture->tracks[i].lanes > 0) {
            put_track(&drawing, &picture->tracks[i]);
        }
    }
    if (picture->bar_count > 0) {
        put_axis(&drawing, top, bottom - BELOW);
    }
    for (size_t i = 0; i < picture->bar_count; i++) {
        (picture->bars[i].row > 0 ? put_block : put_launch)(&drawing, &picture->bars[i]);
    }
    (void)fputs("</svg>\n", out);
}

/* SPDX-License-Identifier: MIT */
/* The pen of the picture of a timeline: numbers, strings and shapes of SVG. */
#include "trace/timeline_pen.h"

void pdl_timeline_svg_number(const struct svg *svg, double value)
{
    const long long hundredths = (long long)(value * 100 + (value < 0 ? -0.5 : 0.5));
    const long long size = hundredths < 0 ? -hundredths : hundredths;
    (void)fprintf(svg->out, "%s%lld", hundredths < 0 ? "-" : "", size / 100);
    if (size % 10 != 0) {
        (void)fprintf(svg->out, ".%02lld", size % 100);
    } else if (size % 100 != 0) {
        (void)fprintf(svg->out, ".%lld", size % 100 / 10);
    }
}

static void put_attribute(const struct svg *svg, const char *name, double value)
{
    (void)fprintf(svg->out, " %s=\"", name);
    pdl_timeline_svg_number(svg, value);
    (void)fputc('"', svg->out);
}

double pdl_timeline_svg_x(const struct svg *svg, int64_t time_ns)
{
    return LEFT + (double)(time_ns - svg->start_ns) / (double)(svg->end_ns - svg->start_ns) * PLOT;
}

void pdl_timeline_svg_open_text(const struct svg *svg, double x, double y, const char *class)
{
    (void)fprintf(svg->out, "<text class=\"%s\"", class);
    put_attribute(svg, "x", x);
    put_attribute(svg, "y", y);
    (void)fputc('>', svg->out);
}

/* The class of a phase of a kernel. The trigger has its own mark, and the colour goes on. */
void pdl_timeline_svg_open(const struct svg *svg, uint32_t launch, enum pdl_timeline_phase phase)
{
    const unsigned colour = svg->timeline->launches[launch].kernel % COLOURS;
    if (phase == PDL_TIMELINE_WAITING) {
        (void)fprintf(svg->out, "<path class=\"w%u\" d=\"", colour);
    } else {
        (void)fprintf(svg->out, "<path class=\"k%u%s\" d=\"", colour,
                      phase == PDL_TIMELINE_BEFORE_WAIT ? " b" : "");
    }
}

/* A piece of a path. Nothing is so short that it cannot be seen. */
void pdl_timeline_svg_box(const struct svg *svg, double x, double y, double width, double height)
{
    (void)fputc('M', svg->out);
    pdl_timeline_svg_number(svg, x);
    (void)fputc(' ', svg->out);
    pdl_timeline_svg_number(svg, y);
    (void)fputc('h', svg->out);
    pdl_timeline_svg_number(svg, width < 0.3 ? 0.3 : width);
    (void)fputc('v', svg->out);
    pdl_timeline_svg_number(svg, height);
    (void)fputc('H', svg->out);
    pdl_timeline_svg_number(svg, x);
    (void)fputc('z', svg->out);
}

void pdl_timeline_svg_close(const struct svg *svg)
{
    (void)fputs("\"/>\n", svg->out);
}

void pdl_timeline_svg_rectangle(const struct svg *svg, const char *class, double x, double y,
                                double width, double height)
{
    (void)fprintf(svg->out, "<rect class=\"%s\"", class);
    put_attribute(svg, "x", x);
    put_attribute(svg, "y", y);
    put_attribute(svg, "width", width);
    put_attribute(svg, "height", height);
    (void)fputs("/>\n", svg->out);
}

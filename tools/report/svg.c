/* SPDX-License-Identifier: MIT */
/* gnuplot's SVG has a fixed form, a tag a line or several: what is not known of it is left as it is. */
#include "report/svg.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/page.h"

/* What is written for what, longest first where one begins as another. `%` stands for the name. */
static const struct rule {
    const char *from, *to;
} rules[] = {
    {" color=\"black\"", ""}, /* currentColor is then what the page says */
    {"'black'", "'currentColor'"},
    {"'rgb(  0,   0,   0)'", "'currentColor'"},
    {"\"rgb(0,0,0)\"", "\"currentColor\""},
    /* The inks of pen.c: lines of the grid, marks and axes, faint text. */
    {"'rgb(128, 128, 129)'", "'currentColor' stroke-opacity='.16'"},
    {"\"rgb(128, 128, 129)\"", "\"currentColor\""},
    {"'rgb(128, 128, 130)'", "'currentColor' stroke-opacity='.55'"},
    {"\"rgb(128, 128, 130)\"", "\"currentColor\""},
    {"\"rgb(128,128,130)\"", "\"currentColor\" fill-opacity=\".78\""},
    {"\"rgb(128,128,131)\"", "\"currentColor\" fill-opacity=\".78\""},
    {"id='gp", "id='%-gp"},
    {"'#gp", "'#%-gp"},
    {"id=\"gnuplot_plot_", "id=\"%-plot-"},
    {"id=\"gnuplot_canvas\"", "id=\"%-canvas\""},
    {" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", ""}, /* is so by default */
    {" font-family=\"sans-serif\"", ""},                        /* stands at the element */
    {"xlink:href=", "href="},
    {" class=\"gridline\"", ""},
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The place behind `what`, or NULL. */
static const char *behind(const char *text, const char *what)
{
    const char *const at = strstr(text, what);
    return at != NULL ? at + strlen(what) : NULL;
}

static size_t skip_blanks(const char *text)
{
    return strspn(text, " \t\r\n");
}

/* How long what draws nothing is here: a group without content, a name that browsers would show, and the
 * definitions of boxes that no figure has. 0 if this is something else. */
static size_t idle_length(const char *at)
{
    if (begins(at, "<title>gnuplot_plot_")) {
        const char *const end = behind(at, "</title>");
        return end != NULL ? (size_t)(end - at) : 0;
    }
    if (begins(at, "<filter ")) {
        const char *const end = behind(at, "</filter>");
        return end != NULL ? (size_t)(end - at) : 0;
    }
    if (begins(at, "<g ")) {
        const char *end = strchr(at, '>');
        if (end != NULL) {
            end++;
            end += skip_blanks(end);
            return begins(end, "</g>") ? (size_t)(end - at) + strlen("</g>") : 0;
        }
    }
    return 0;
}

/* Writes what a rule makes of what is here; returns how much it was, 0 if there is no rule for it. */
static size_t apply_rule(FILE *to, const char *at, const char *name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (begins(at, rules[i].from)) {
            for (const char *c = rules[i].to; *c != '\0'; c++) {
                if (*c == '%') {
                    (void)fputs(name, to);
                } else {
                    (void)fputc(*c, to);
                }
            }
            return strlen(rules[i].from);
        }
    }
    return 0;
}

/* Text between tags is not touched: it is the figure's own. */
static void rewrite(FILE *to, const char *at, const char *end, const char *name)
{
    bool in_tag = false;
    bool blank = false; /* the last that was written */
    while (at < end) {
        const size_t idle = idle_length(at);
        size_t done = idle;
        if (idle == 0 && in_tag) {
            done = apply_rule(to, at, name);
        }
        if (done > 0) {
            at += done;
            continue;
        }
        in_tag = *at == '<' || (in_tag && *at != '>');
        const bool is_blank = isspace((unsigned char)*at) != 0;
        if (!is_blank || !blank) {
            (void)fputc(is_blank ? ' ' : *at, to);
        }
        blank = is_blank;
        at++;
    }
}

char *svg_element(const struct bytes *drawn, const char *name, const char *title)
{
    const char *const box = behind(drawn->items, "viewBox=\"");
    const char *const body = behind(drawn->items, "</desc>");
    const char *end = NULL;
    for (const char *at = body; at != NULL; at = behind(at, "</svg>")) {
        end = at;
    }
    int width = 0;
    int height = 0;
    char *text = NULL;
    size_t length = 0;
    if (body == NULL || end == body || box == NULL ||
        sscanf(box, "0 0 %6d %6d", &width, &height) != 2) { /* NOLINT(cert-err34-c): checked */
        return NULL;
    }
    FILE *to = open_memstream(&text, &length);
    if (to == NULL) {
        return NULL;
    }
    (void)fprintf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
                  "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n<title>",
                  width, height);
    html_text(to, title);
    (void)fputs("</title>", to);
    rewrite(to, body, end, name);
    (void)fclose(to);
    return text;
}

char *svg_file(const char *element)
{
    const char *const begin = strchr(element, '>');
    return format_text("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n%.*s>\n"
                       "<style>:root { color: #1f2328 } @media (prefers-color-scheme: dark) "
                       "{ :root { color: #e6edf3 } }</style>%s\n",
                       (int)(begin - element), element, begin + 1);
}

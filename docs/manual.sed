# What differs in the manual from the pages that GitHub shows. Doxygen reads each page through this.
# Headings have no markup: doxygen shows it as it stands.
/^#+ .*`/{
s/</\&lt;/g
s/>/\&gt;/g
s/_/\\_/g
s/`//g
}
# It knows pages, and no anchors in them. What else a link leads to is not in the manual.
s/\]\(([A-Za-z0-9_./-]+\.md)(#[^)]*)?\)/]\x01\1\x02/g
s/(^|[^!])\[([^]]*)\]\([A-Za-z0-9_./-]+\)/\1\2/g
s/\x01/(/g
s/\x02/)/g
# It takes this for the address of a file.
s/file:line/FILE:LINE/g

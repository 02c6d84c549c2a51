/* SPDX-License-Identifier: MIT */
/* Two shared objects, each with a libpdl of its own: neither sees the other's error. */
int first(int ordinal);
int second(int ordinal);

int main(void)
{
    const int none = first(-1);
    const int other = second(-1);
    const int own = first(-1);
    return none == 0 && other == 0 && own != 0 ? 0 : 1;
}

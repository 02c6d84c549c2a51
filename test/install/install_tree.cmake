# SPDX-License-Identifier: MIT
# cmake -D BUILD= -D DIR= -P install_tree.cmake
# Installs into DIR/first, then moves that to DIR/prefix: whatever uses the tree uses a moved one.
file(REMOVE_RECURSE ${DIR}/first ${DIR}/prefix)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${DIR}/first
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${DIR}/first ${DIR}/prefix)

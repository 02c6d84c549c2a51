# SPDX-License-Identifier: MIT
"""The bill of materials of a release, as SPDX 2.3 in JSON.

It has a package for each artefact with its files, for each Debian package that these depend on in the version that was
installed for the build, and for compilers and the CUDA toolkit. Nothing in it is random: its namespace is made of the
checksums of the artefacts.
"""

import dataclasses
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import uuid

LICENSE = "MIT" # of the project, as LICENSE states it
COPYRIGHT = re.compile(r"^Copyright .*", re.MULTILINE)
IDENTIFIER = re.compile(rb"SPDX-License-Identifier: ([\w.+-]*[\w+](?: (?:AND|OR|WITH) [\w.+-]*[\w+])*)")
# Files of this project that can hold a comment have their licence in one.
COMMENTED = {".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake"}
CUDA = "LicenseRef-NVIDIA-CUDA-EULA"
PURPOSES = {"source": "SOURCE", "single": "SOURCE", "deb": "INSTALL", "archive": "ARCHIVE"}
SUPPLIER = "Organization: libpdl authors"


@dataclasses.dataclass
class Artifact:
    """A file of the release, and the folder of what it contains."""

    path: pathlib.Path
    folder: pathlib.Path
    kind: str

    def control(self):
        """The fields of a Debian package."""
        if self.kind != "deb":
            return {}
        text = (self.folder / "DEBIAN" / "control").read_text(encoding="utf-8")
        return dict(re.findall(r"^([\w-]+): *(.*)$", text, re.MULTILINE))


@dataclasses.dataclass
class Build:
    """An architecture, and the CMake cache of its build."""

    architecture: str
    cache: dict


def cache_of(binary):
    """The variables of a CMake cache, and the versions of the compilers."""
    text = (binary / "CMakeCache.txt").read_text(encoding="utf-8")
    cache = dict(re.findall(r"^([A-Za-z_]\w*):\w+=(.*)$", text, re.MULTILINE))
    for file in sorted(binary.glob("CMakeFiles/*/CMake*Compiler.cmake")):
        cache.update(re.findall(r'^set\((CMAKE_\w+_COMPILER(?:_ID|_VERSION|_TOOLKIT_VERSION)?) "(.*)"\)',
                                file.read_text(encoding="utf-8"), re.MULTILINE))
    return cache


def identifier(*parts):
    """An SPDX identifier; equal parts give the same one."""
    plain = "-".join(parts)
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", plain)
    if readable == plain and len(plain) < 64:
        return "SPDXRef-" + plain
    return "SPDXRef-%s-%s" % (readable[:40].strip("-"), hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16])


def checksums(data):
    return [{"algorithm": name, "checksumValue": hashlib.new(name, data).hexdigest()} for name in ("SHA1", "SHA256")]


def file_types(name, data):
    if data[:4] == b"\x7fELF" or data[:8] == b"!<arch>\n":
        return ["BINARY"]
    if name.endswith((".md", ".1", ".1.gz")):
        return ["DOCUMENTATION"]
    return ["SOURCE"] if pathlib.PurePath(name).suffix in COMMENTED else ["OTHER"]


def files_of(artifact, concluded):
    """A dictionary for each file of an artefact, in the order of their names."""
    for path in sorted(artifact.folder.rglob("*")):
        name = path.relative_to(artifact.folder).as_posix()
        if path.is_dir() or path.is_symlink() or name.startswith("DEBIAN/"):
            continue
        data = path.read_bytes()
        found = sorted({match.decode() for match in IDENTIFIER.findall(data)})
        if artifact.kind == "source" and path.suffix in COMMENTED and not found:
            raise SystemExit("sbom: %s has no line SPDX-License-Identifier" % name)
        types = file_types(name, data)
        yield {
            "SPDXID": identifier("File", artifact.path.name, name),
            "fileName": "./" + name,
            "fileTypes": types,
            "checksums": checksums(data),
            "licenseInfoInFiles": found or ["NOASSERTION"],
            "licenseConcluded": concluded if types == ["BINARY"] else " AND ".join(found) or LICENSE,
            "copyrightText": "NOASSERTION",
        }


def verification_code(files):
    """What SPDX 2.3 defines in 7.9: the SHA-1 of the files' sorted SHA-1s."""
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}


def outside(name, version, purpose, **more):
    """A package that somebody else makes."""
    return {"SPDXID": identifier("Package", name, version, *more.pop("part", ())), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "primaryPackagePurpose": purpose, **more}


def debian_package(name, architecture):
    """A package of Debian in the version that this machine has for an architecture."""
    for candidate in ("%s:%s" % (name, architecture), "%s-%s-cross" % (name, architecture)):
        query = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", candidate],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.split()
        if query[:1] == ["installed"]:
            purl = "pkg:deb/debian/%s@%s?arch=%s" % (name.replace("+", "%2B"), query[1].replace("+", "%2B"), architecture)
            return outside(name, query[1], "LIBRARY", part=(architecture,), externalRefs=[{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}])
    raise SystemExit("sbom: no package %s for %s is installed, so that its version is unknown" % (name, architecture))


def names_of(field):
    """The packages of a field such as Depends; of alternatives, the first."""
    return [re.match(r"[a-z0-9.+-]+", part.strip())[0] for part in field.split(",") if part.strip()]


class Document:
    """An SPDX document under construction."""

    def __init__(self):
        self.packages, self.files, self.relationships = {}, [], []

    def relate(self, one, kind, other):
        relationship = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if relationship not in self.relationships:
            self.relationships.append(relationship)

    def add(self, package):
        return self.packages.setdefault(package["SPDXID"], package)["SPDXID"]

    def add_artifact(self, artifact, version, copyright_text, linked):
        """An artefact with its files. Its binaries contain parts of CUDA if linked."""
        own = identifier("Package", artifact.path.name)
        concluded = "%s AND %s" % (LICENSE, CUDA) if linked else LICENSE
        files = list(files_of(artifact, concluded))
        control = artifact.control()
        self.add({
            "SPDXID": own, "name": control.get("Package", "libpdl"), "versionInfo": control.get("Version", version),
            "packageFileName": artifact.path.name, "supplier": SUPPLIER, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": True, "packageVerificationCode": verification_code(files),
            "checksums": checksums(artifact.path.read_bytes()), "licenseDeclared": LICENSE,
            "licenseConcluded": concluded if any(file["fileTypes"] == ["BINARY"] for file in files) else LICENSE,
            "licenseInfoFromFiles": sorted({name for file in files for name in file["licenseInfoInFiles"]}),
            "copyrightText": copyright_text, "primaryPackagePurpose": PURPOSES[artifact.kind]})
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", own)
        for file in files:
            self.files.append(file)
            self.relate(own, "CONTAINS", file["SPDXID"])
        return own

    def add_debian(self, artifacts):
        """What Debian packages depend on: one another, and packages of Debian."""
        own = {(a.control()["Package"], a.control()["Architecture"]): a for a in artifacts if a.kind == "deb"}
        for (_, architecture), artifact in own.items():
            this = identifier("Package", artifact.path.name)
            control = artifact.control()
            for name in names_of(control.get("Depends", "")):
                if (name, architecture) in own:
                    self.relate(this, "DEPENDS_ON", identifier("Package", own[name, architecture].path.name))
                else:
                    self.relate(this, "DEPENDS_ON", self.add(debian_package(name, architecture)))
            for name in names_of(control.get("Recommends", "")):
                if (name, architecture) in own:
                    other = identifier("Package", own[name, architecture].path.name)
                else: # which the build does not need
                    other = self.add(outside(name, "any", "LIBRARY"))
                self.relate(other, "OPTIONAL_DEPENDENCY_OF", this)

    def add_build(self, build, artifacts):
        """Compilers, and the headers of CUDA. An artefact with code that nvcc linked contains NVIDIA's runtime."""
        cache = build.cache
        tools = [outside(cache["CMAKE_C_COMPILER_ID"], cache["CMAKE_C_COMPILER_VERSION"], "APPLICATION",
                         part=(build.architecture,), comment="compiles for " + build.architecture),
                 outside("CMake", ".".join(cache["CMAKE_CACHE_%s_VERSION" % part] for part in ("MAJOR", "MINOR", "PATCH")),
                         "APPLICATION")]
        cuda = cuda_version(cache)
        toolkit = self.add(outside("CUDA toolkit", cuda, "LIBRARY", licenseDeclared=CUDA, supplier="Organization: NVIDIA"))
        for artifact in artifacts:
            this = identifier("Package", artifact.path.name)
            for tool in tools:
                self.relate(self.add(tool), "BUILD_TOOL_OF", this)
            self.relate(toolkit, "BUILD_DEPENDENCY_OF", this)
            if links_cuda(artifact, build):
                self.relate(this, "STATIC_LINK", toolkit)


def cuda_version(cache):
    """As cuda.h has it: 13.0."""
    header = pathlib.Path(cache["PDL_CUDA_INCLUDE_DIR"]) / "cuda.h"
    number = int(re.search(r"^#define CUDA_VERSION (\d+)", header.read_text(encoding="utf-8"), re.MULTILINE)[1])
    return "%d.%d" % (number // 1000, number % 1000 // 10)


def links_cuda(artifact, build):
    """Whether programs in it were linked by way of nvcc, which adds the static runtime."""
    return bool(build) and "CMAKE_CUDA_COMPILER_VERSION" in build.cache and any(artifact.folder.glob("**/bin/pdltool"))


def write(path, version, epoch, artifacts, builds):
    """Writes the document. builds are in the order in which their artefacts are."""
    document = Document()
    source = artifacts[0]
    copyright_text = COPYRIGHT.search((source.folder / "LICENSE").read_text(encoding="utf-8"))[0]

    def build_of(artifact):
        return next((b for b in builds if artifact.kind in ("deb", "archive")
                     and re.search(r"[_-]%s\." % b.architecture, artifact.path.name)), None)

    for artifact in artifacts:
        own = document.add_artifact(artifact, version, copyright_text, links_cuda(artifact, build_of(artifact)))
        if artifact is not source:
            document.relate(own, "GENERATED_FROM", identifier("Package", source.path.name))
    document.add_debian(artifacts)
    for build in builds:
        document.add_build(build, [artifact for artifact in artifacts if build_of(artifact) is build])

    sums = "".join(hashlib.sha256(artifact.path.read_bytes()).hexdigest() for artifact in artifacts)
    name = "libpdl-" + version
    result = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": "https://spdx.org/spdxdocs/%s-%s" % (name.replace("+", "-"), uuid.uuid5(uuid.NAMESPACE_URL, sums)),
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [SUPPLIER + " ()", "Tool: libpdl-release-" + version]},
        "packages": list(document.packages.values()), "files": document.files, "relationships": document.relationships,
        "hasExtractedLicensingInfos": [{
            "licenseId": CUDA, "name": "NVIDIA CUDA Toolkit End User License Agreement",
            "extractedText": "The End User License Agreement of the CUDA toolkit, which lists what programs may contain.",
            "seeAlsos": ["https://docs.nvidia.com/cuda/eula/index.html"]}]}
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

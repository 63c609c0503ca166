"""Let asv's pages work without a network: ``python asv_bench/offline_pages.py FOLDER``.

asv's ``index.html`` loads its scripts from servers. This puts copies beside it, from the packages of these scripts in
npm's registry, so npm and a network are needed once: the packages are kept below ``build/``. The page has hashes of
the files; they are compared where the package has the same file.
"""
import base64
import hashlib
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "build" / "asv_scripts"
# The end of an address → package, the file in it, and whether that is the same file. Flot's package has no shortened
# files, and of stupidtable there is one later version.
SOURCES = {
    "jquery-3.3.1.min.js": ("jquery@3.3.1", "dist/jquery.min.js", True),
    "jquery.flot.min.js": ("flot@0.8.3", "jquery.flot.js", False),
    "jquery.flot.time.min.js": ("flot@0.8.3", "jquery.flot.time.js", False),
    "jquery.flot.selection.min.js": ("flot@0.8.3", "jquery.flot.selection.js", False),
    "jquery.flot.categories.min.js": ("flot@0.8.3", "jquery.flot.categories.js", False),
    "jquery.flot.orderBars.js": ("flot-orderbars@1.0.0", "js/jquery.flot.orderBars.js", True),
    "stupidtable.min.js": ("stupid-table-plugin@1.1.3", "stupidtable.min.js", False),
    "md5.min.js": ("blueimp-md5@2.19.0", "js/md5.min.js", True),
    "bootstrap.min.js": ("bootstrap@3.1.1", "dist/js/bootstrap.min.js", True),
    "bootstrap.min.css": ("bootstrap@3.1.1", "dist/css/bootstrap.min.css", True),
}
TAG = re.compile(r'<(?:script|link)\b[^>]*?\b(?:src|href)="(?P<address>https?://[^"]+)"[^>]*>')
INTEGRITY = re.compile(r'\bintegrity="(sha\d+)-([^"]+)"')


def content_of(package, file):
    """A file of a package of npm's registry, as bytes."""
    archive = STORE / f"{package}.tgz"
    if not archive.exists():
        STORE.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", "--silent", package], cwd=STORE, capture_output=True, text=True,
                                check=True)
        (STORE / packed.stdout.split()[-1]).rename(archive)
    with tarfile.open(archive) as members:
        found = [member for member in members.getmembers() if member.name.partition("/")[2] == file]
        if not found:
            raise FileNotFoundError(f"{package} has no {file}")
        return members.extractfile(found[0]).read()


def local(tag, content_of=content_of):
    """A tag that names a local file, that file's name, and its content.

    Raises
    ------
    ValueError
        If no package is known for the address, or its file is another than the page says.
    """
    address = TAG.fullmatch(tag)["address"]
    name = address.rpartition("/")[2]
    if name not in SOURCES:
        raise ValueError(f"no package is known that has {address}; add it to SOURCES in {Path(__file__).name}")
    package, file, is_same = SOURCES[name]
    content = content_of(package, file)
    stated = INTEGRITY.search(tag)
    if is_same and stated is not None:
        found = base64.b64encode(hashlib.new(stated[1], content).digest()).decode()
        if found != stated[2]:
            raise ValueError(f"{file} of {package} is not the file that the page asks for: {stated[1]} is {found}")
    tag = re.sub(r'\s(?:integrity|crossorigin|referrerpolicy)="[^"]*"', "", tag)
    return tag.replace(address, name), name, content


def make_local(folder, content_of=content_of):
    """Change ``index.html`` of a folder, and write what it loads beside it; return how many files.

    Parameters
    ----------
    folder : Path
    content_of : callable
        Returns the content of a file of a package.
    """
    page = folder / "index.html"
    text, files = page.read_text(), {}

    def replaced(match):
        tag, name, content = local(match[0], content_of)
        files[name] = content
        return tag

    text = TAG.sub(replaced, text)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    page.write_text(text)
    return len(files)


if __name__ == "__main__":
    try:
        print(f"{make_local(Path(sys.argv[1]))} scripts are beside asv's pages")
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"asv's pages load scripts from servers; they could not be put beside them: {error}")

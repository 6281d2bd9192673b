"""The walk of a workspace: each start finds what is there by then."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, file_uri
from support.runner import main
from support.sandboxes import mode, sandbox_test

PATTERNS = ["**/*.pem", "**/.env"] + ["**/*.secret%d" % number for number in range(13)]
DENIED = mode(denyRead=PATTERNS)


@sandbox_test
def what_one_command_makes_is_hidden_from_the_next(site):
    site.works("mkdir -p a/b; echo hidden > a/b/key.pem; echo shown > a/b/key.txt", DENIED)
    site.works("mkdir c; mv a/b c/moved; echo hidden > .env", DENIED)
    text = site.fails("cat c/moved/key.txt .env; cat c/moved/key.pem", DENIED)
    check("shown" in text and "hidden" not in text, text)
    site.works("mkdir n; for i in $(seq 14); do echo hidden > n/x.secret$((i % 13)); done", DENIED)
    check("hidden" not in site.fails("cat n/*", DENIED), "one of 15 patterns was not searched for")


@sandbox_test(needs=["git"])
def what_is_made_outside_is_seen_by_the_next_command(site):
    site.works("true", DENIED)
    site.file("deep/in/x.pem", "hidden\n")
    site.repository("deep/r")
    script = "exec 2> /dev/null; cat deep/in/x.pem; echo evil >> deep/r/.git/config || echo held"
    text = site.works(script, DENIED)
    check("hidden" not in text and text.endswith("held\n"), text)


@sandbox_test(needs=["git"])
def a_repository_that_one_command_makes_is_protected_from_the_next(site):
    environment = site.git_environment()
    site.works("mkdir -p far; cd far; git init -q made", DENIED, env=environment)
    site.works("mv far near; git init -q near/other", DENIED, env=environment)
    for name in ("near/made", "near/other"):
        script = "exec 2> /dev/null; echo evil > %s/.git/hooks/x || echo held" % name
        text = site.works(script, DENIED)
        check(text.endswith("held\n"), "%s: %s" % (name, text))


@sandbox_test
def many_files_hide_nothing(site):
    makes = "mkdir many; cd many; seq 25000 | xargs touch; mkdir d; echo hidden > d/x.pem; cd ..; "
    site.works("true", DENIED)
    site.works(makes + "mkdir -p r/.git/objects r/.git/hooks; echo x > r/.git/HEAD", DENIED)
    script = "exec 2> /dev/null; cat many/d/x.pem; echo evil > r/.git/hooks/x || echo held"
    text = site.works(script, DENIED)
    check("hidden" not in text and text.endswith("held\n"), text[-600:])


@sandbox_test
def a_match_in_a_directory_that_lets_nobody_through_is_closed_with_it(site):
    for new in (0o600, 0o400, 0o200):
        site.works("rm -rf s; mkdir s; echo hidden > s/x.pem; chmod %o s" % new, DENIED)
        text = site.run("chmod 755 s; cat s/x.pem", DENIED).text
        check("hidden" not in text, "mode %o: %s" % (new, text))
        os.chmod(site.inside("s"), 0o755)


# Alone: it makes more directories than one walk reads (200 000).
@sandbox_test(alone=True)
def what_is_too_large_to_be_searched_is_closed_and_the_rest_goes_on(site):
    root = tempfile.mkdtemp(prefix="execward-test-", dir="/dev/shm")  # in memory, where this is quick
    repository = "999/.git/hooks"
    try:
        for group in range(201):
            for number in range(1000):
                os.makedirs(os.path.join(root, "many", str(group), str(number)))
            os.makedirs(os.path.join(root, "many", str(group), repository))
            site.file(os.path.join(root, "many", str(group), "999/.git/HEAD"), "ref: refs/heads/x\n")
        os.mkdir(os.path.join(root, "src"))
        ended = site.run(
            "exec 2> /dev/null; echo x > src/file && echo src; echo x > file && echo root; "
            "for d in many/*; do echo x > $d/%s/x && echo planted; done; true" % repository,
            mode(policyCwd=file_uri(root)),
            cwd=file_uri(root),
        )
    finally:
        shutil.rmtree(root)
    equal(ended.text, "src\nroot\n", "what can be written")
    notes = ended.started.get("notes", ())
    check(any("too many directories" in note for note in notes), "notes %s" % (notes,))


if __name__ == "__main__":
    main()

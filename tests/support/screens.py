"""What the terminals of processes show."""

from support.client import eventually
from support.runner import test


def is_there(server):
    """Returns whether the server was built with screens."""
    return server.initialized["capabilities"].get("screen", False)


def tests_with_screens(server_of):
    """Returns a mark for tests that get such a server, and have nothing to do if this build has no
    screens.
    """

    def mark(function):
        def run(scene):
            server = server_of(scene)
            if is_there(server):
                function(server)

        run.__name__ = function.__name__
        return test(run)

    return mark


def screen(server, process_id, method="process/screen", **params):
    return server.call(method, {"processId": process_id, **params})


def text(result):
    """Returns the rows of an answer with all of them, without empty ones at the end."""
    return "\n".join(row["text"] for row in result["rows"]).rstrip("\n")


def wait_screen(server, process_id, shows, **params):
    """Waits until the text of a screen contains this. Returns the answer."""

    def look():
        result = screen(server, process_id, **params)
        return result if shows in text(result) else None

    return eventually(look, "%r on the screen" % shows)

"""`anycsp animate`: a search as a moving picture, without a server."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import click

from anycsp.cli.options import Number, Whole, colors_option, file_argument, format_option
from anycsp.errors import AnyCSPError

EPILOG = """
\b
Examples:
  anycsp animate graph.col --colors 3 --search neural --out coloring.gif
  anycsp animate model.xml --time-limit 20 --out search.mp4
"""
FRAMES_PER_SECOND = 8
LAST_FRAMES = 12
"""How often the last frame is repeated, so that a film that starts again shows its end for a while."""
MOST_FRAMES = 240
"""Half a minute; a longer film is thinned."""


@click.command(epilog=EPILOG)
@file_argument
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="FILE.gif, or FILE.mp4 with ffmpeg."
)
@click.option("--search", default="auto", show_default=True, help="As for solve.")
@click.option("--model", default="auto", show_default=True, help="As for solve.")
@click.option("--time-limit", type=Number(min=0), default=10.0, show_default=True, metavar="S")
@click.option("--runs", type=Whole(min=1), help="As for solve.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="As for solve.")
@format_option
@colors_option
def animate(
    file: str,
    out: Path,
    format_name: str | None,
    colors: int | None,
    **options: Any,
) -> None:
    """Search the problem in FILE and draw it frame by frame: a graph, a board, a schedule or a route with what is in
    conflict in red, where the problem is one; otherwise a heat map of its constraints. Graphs to colour need --colors.
    """
    kind = out.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise click.UsageError(f"--out {out}: the name ends in .gif or .mp4", click.get_current_context())
    if kind == ".mp4" and shutil.which("ffmpeg") is None:
        raise AnyCSPError(f"{out}: an .mp4 needs ffmpeg, which is not installed; a .gif does not")
    try:
        import matplotlib
    except ImportError:
        raise AnyCSPError("drawing needs matplotlib: pip install 'anycsp[plot]'") from None
    matplotlib.use("Agg")
    from anycsp.formats import detect, parse
    from anycsp.formats.files import check_writable, load
    from anycsp.pictures import picture_of
    from anycsp.pictures.film import Event, Film
    from anycsp.search import solve

    check_writable(out)
    source = load(file)
    if detect(source, format_name).takes_colors and colors is None:
        raise click.UsageError("a graph to colour needs --colors", click.get_current_context())
    problem = parse(source, format=format_name, colors=colors)
    picture = picture_of(problem)
    events: list[Event] = []
    film = Film(picture, events.append)
    film.begin(problem)
    result = solve(problem, callback=film, **options)
    value = None if result.objective is None else result.objective["value"]
    film.end(result.seconds, result.steps, result.positions, value, result.found_by)
    frames = [event for event in events if event["event"] == "frame"]
    _write(out, picture.describe(), frames[:: max(1, len(frames) // MOST_FRAMES)][:-1] + frames[-1:])
    click.echo(f"{out}: {len(frames)} frames, {frames[-1]['frame']['says']}")


def _write(out: Path, picture: dict[str, Any], frames: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.animation import FFMpegWriter, PillowWriter

    from anycsp.formats.files import write_whole
    from anycsp.pictures.paint import paint

    if picture["kind"] == "schedule":
        # One scale for all frames; that of schedules that hold, since the others reach to the end of time.
        ends = [event["frame"]["end"] for event in frames if event["violated"] == 0]
        picture = {**picture, "last": max(ends, default=picture["last"])}
    figure, axes = plt.subplots(figsize=(6, 6.4))
    writer = (PillowWriter if out.suffix.lower() == ".gif" else FFMpegWriter)(fps=FRAMES_PER_SECOND)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / f"film{out.suffix.lower()}"
        with writer.saving(figure, str(film), dpi=80):
            for event in frames:
                shown = event["frame"].get("soft", event["frame"])  # what a network leans to, while it searches
                paint(axes, picture, shown)
                by = "the network leans to" if shown is not event["frame"] else f"found by {event['found_by']}"
                title = f"{shown['says']}\n{event['seconds']:.2f} s, {by}"
                axes.set_title(title, fontsize=10)
                writer.grab_frame()
            for _ in range(LAST_FRAMES):
                writer.grab_frame()
        plt.close(figure)
        write_whole(out, film.read_bytes())

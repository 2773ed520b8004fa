//! The figure: the size of a vault by its interval of keyframes, compared with the other stores.

use super::{Figures, INTERVALS};

const WIDTH: f64 = 790.0;
const HEIGHT: f64 = 420.0;
/// The plot within; the names of the lines are to the right of it.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 360.0;
/// Minimum distance of two names.
const LINE: f64 = 18.0;
const OURS: &str = "#0b5cad";
const COLOURS: [&str; 3] = ["#444444", "#b3541e", "#2e7d32"];

/// Draws the figure as SVG, on a white background, so that it can be read on any page.
pub(super) fn draw(figures: &[Figures]) -> String {
    let megabytes = |one: &Figures| one.bytes.all() as f64 / 1e6;
    let (others, ours) = figures.split_at(figures.len() - INTERVALS.len());
    let most = figures.iter().map(megabytes).fold(0.0, f64::max);
    let step = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        .into_iter()
        .find(|step| most / step <= 6.5)
        .unwrap_or(most);
    let steps = (most / step).ceil();
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / (steps * step);
    let last = INTERVALS.map(|k| (k as f64).ln())[INTERVALS.len() - 1];
    let x = |k: u64| LEFT + 20.0 + (RIGHT - LEFT - 40.0) * (k as f64).ln() / last;

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222222\">\n\
         <title>Bytes on the disk by the interval of keyframes</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"#ffffff\"/>\n"
    );
    text(
        &mut out,
        [LEFT, 28.0],
        "start",
        "#222222",
        "<tspan font-weight=\"bold\">Ten years of edits: bytes by keyframe interval k</tspan>",
    );
    let mut tick = 0.0;
    while tick <= steps {
        let value = tick * step;
        let at = y(value);
        line(&mut out, [LEFT, at, RIGHT, at], "stroke=\"#dddddd\"");
        let decimals = usize::from(step < 1.0);
        text(&mut out, [LEFT - 8.0, at + 4.0], "end", "#222222", &format!("{value:.decimals$}"));
        tick += 1.0;
    }
    text(&mut out, [LEFT - 8.0, TOP - 12.0], "end", "#222222", "MB");
    for k in INTERVALS {
        line(&mut out, [x(k), BOTTOM, x(k), BOTTOM + 5.0], "stroke=\"#222222\"");
        text(&mut out, [x(k), BOTTOM + 20.0], "middle", "#222222", &k.to_string());
    }
    let middle = (LEFT + RIGHT) / 2.0;
    let axis = "k: every how many versions a full text is stored (logarithmic)";
    text(&mut out, [middle, BOTTOM + 44.0], "middle", "#222222", axis);

    let mut names = Vec::new();
    for (one, colour) in others.iter().zip(COLOURS) {
        let at = y(megabytes(one));
        let style = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"7 4\"");
        line(&mut out, [LEFT, at, RIGHT, at], &style);
        names.push((at, colour, format!("{}: {:.1}", one.name, megabytes(one))));
    }
    let points: Vec<[f64; 2]> =
        ours.iter().zip(INTERVALS).map(|(one, k)| [x(k), y(megabytes(one))]).collect();
    let path: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
    out += &format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{OURS}\" stroke-width=\"2.5\"/>\n",
        path.join(" ")
    );
    for (n, ([x, y], one)) in points.iter().zip(ours).enumerate() {
        // The curve falls: there is room above its beginning, and below the rest.
        let aside = if n == 0 { -10.0 } else { 20.0 };
        out += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{OURS}\"/>\n");
        out += &format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{OURS}\" stroke=\"#ffffff\" \
             stroke-width=\"4\" paint-order=\"stroke\">{:.1}</text>\n",
            y + aside,
            megabytes(one)
        );
    }
    if let Some([_, y]) = points.last() {
        names.push((*y, OURS, "ctx, keyframes and diffs".to_owned()));
    }
    names.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let mut above = f64::MIN;
    for (at, colour, name) in names {
        above = at.max(above + LINE);
        text(&mut out, [RIGHT + 8.0, above + 4.0], "start", colour, &name);
    }
    out + "</svg>\n"
}

fn text(out: &mut String, [x, y]: [f64; 2], anchor: &str, colour: &str, what: &str) {
    *out += &format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{what}</text>\n"
    );
}

fn line(out: &mut String, [x1, y1, x2, y2]: [f64; 4], style: &str) {
    *out +=
        &format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>\n");
}

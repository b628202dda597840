//! OpenSCAD code for a box, cylinder, sphere, cone or tube.

use super::number;
use super::words::Words;

/// The forms that are understood.
pub(super) const FORMS: &[&str] = &[
    "box 40 x 30 x 20 mm",
    "box 40 x 30 x 20 mm with walls of 2 mm",
    "box 40 x 30 x 20 mm with a hole of 5 mm",
    "cylinder radius 10 mm height 20 mm",
    "sphere diameter 30 mm",
    "cone radius 10 mm height 20 mm",
    "tube outer 20 mm inner 16 mm height 50 mm",
];

/// Returns the code. None where the description is in none of the forms.
pub(super) fn write(words: &Words) -> Option<String> {
    let (names, body) = shape(words)?;
    if names.iter().any(|(_, value)| *value <= 0.0) {
        return None;
    }
    let lines = names.iter().map(|(name, value)| format!("{name} = {};\n", number(*value)));
    let measures: String = lines.collect();
    Some(format!("// All measures are in millimetres.\n{measures}$fn = 64;\n\n{body}"))
}

type Shape = (Vec<(&'static str, f64)>, &'static str);

fn shape(words: &Words) -> Option<Shape> {
    let radius = words.after(&["radius", "straal", "r"]);
    let radius = radius.or_else(|| Some(words.after(&["diameter", "d"])? / 2.0));
    let height = words.after(&["height", "high", "long", "hoogte", "h"]);
    if words.has(&["box", "cube", "block", "doos", "kubus", "balk"]) {
        return of_box(words);
    }
    if words.has(&["tube", "pipe", "ring", "buis"]) {
        let (outer, inner) = (words.after(&["outer"])?, words.after(&["inner"])?);
        let names = vec![("outer", outer), ("inner", inner), ("height", height?)];
        let body = "difference() {\n  cylinder(h = height, d = outer);\n  translate([0, 0, -1]) cylinder(h = height + 2, d = inner);\n}\n";
        return (inner < outer).then_some((names, body));
    }
    if words.has(&["cylinder", "rod", "disc", "cilinder"]) {
        let names = vec![("radius", radius?), ("height", height?)];
        return Some((names, "cylinder(h = height, r = radius);\n"));
    }
    if words.has(&["cone", "kegel"]) {
        let names = vec![("radius", radius?), ("height", height?)];
        return Some((names, "cylinder(h = height, r1 = radius, r2 = 0);\n"));
    }
    if words.has(&["sphere", "ball", "bol"]) {
        return Some((vec![("radius", radius?)], "sphere(r = radius);\n"));
    }
    None
}

fn of_box(words: &Words) -> Option<Shape> {
    let [width, depth, height] = words.three()?;
    let mut names = vec![("width", width), ("depth", depth), ("height", height)];
    if words.has(&["wall", "walls", "hollow", "wand", "wanden"]) {
        let wall = words.after(&["wall", "walls", "wand", "wanden"])?;
        names.push(("wall", wall));
        let body = "// Open at the top.\ndifference() {\n  cube([width, depth, height]);\n  translate([wall, wall, wall])\n    cube([width - 2 * wall, depth - 2 * wall, height]);\n}\n";
        return (2.0 * wall < width.min(depth) && wall < height).then_some((names, body));
    }
    if words.has(&["hole", "gat"]) {
        let hole = words.after(&["hole", "gat"])?;
        names.push(("hole", hole));
        let body = "// A hole from top to bottom in the middle.\ndifference() {\n  cube([width, depth, height]);\n  translate([width / 2, depth / 2, -1]) cylinder(h = height + 2, d = hole);\n}\n";
        return (hole < width.min(depth)).then_some((names, body));
    }
    Some((names, "cube([width, depth, height]);\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_understood_and_the_same_words_give_the_same_code() {
        for form in FORMS {
            let code = write(&Words::of(form)).unwrap_or_else(|| panic!("{form}"));
            assert_eq!(write(&Words::of(form)), Some(code));
        }
        let code = write(&Words::of("Doos 4cm x 3cm x 2cm")).unwrap();
        assert!(code.contains("width = 40.0;\n") && code.contains("cube([width"), "{code}");
    }

    #[test]
    fn what_is_no_shape_or_has_impossible_measures_is_not_guessed() {
        for text in [
            "a dragon",
            "box",
            "box 0 x 1 x 1",
            "box 10 x 10 x 10 with walls of 6 mm",
            "tube outer 10 inner 12 height 5",
            "cylinder radius 5",
        ] {
            assert_eq!(write(&Words::of(text)), None, "{text}");
        }
    }
}

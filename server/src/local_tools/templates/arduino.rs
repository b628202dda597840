//! Arduino sketches for a LED, a sensor, a button or a servo.

use super::words::Words;

/// The forms that are understood.
pub(super) const FORMS: &[&str] = &[
    "blink led on pin 13 every 500 ms",
    "fade led on pin 9",
    "read sensor on A0 every 1 s",
    "button on pin 2 controls led on pin 13",
    "sweep servo on pin 9",
];

/// The highest number of a pin.
const MAX_PIN: u8 = 69;
/// The time between two steps where the description names none, in milliseconds.
const DEFAULT_MS: u32 = 1000;

/// Returns the sketch. None where the description is in none of the forms.
pub(super) fn write(words: &Words) -> Option<String> {
    let every = every(words)?;
    if words.has(&["servo"]) {
        let pin = pin(words.after(&["pin"])?)?;
        return Some(SERVO.replace("{pin}", &pin));
    }
    if words.has(&["button", "switch", "knop"]) {
        let [button, led] = words.pins()?.map(pin);
        let (button, led) = (button?, led?);
        return (button != led).then(|| BUTTON.replace("{button}", &button).replace("{led}", &led));
    }
    if words.has(&["sensor", "analog", "read", "lees"]) {
        let name = analog(words)?;
        return Some(SENSOR.replace("{pin}", &name).replace("{every}", &every.to_string()));
    }
    if words.has(&["fade", "dim"]) {
        let pin = pin(words.after(&["pin"])?)?;
        return Some(FADE.replace("{pin}", &pin));
    }
    if words.has(&["blink", "knipper", "flash"]) {
        let pin = pin(words.after(&["pin"])?)?;
        return Some(BLINK.replace("{pin}", &pin).replace("{every}", &every.to_string()));
    }
    None
}

/// Returns the time between two steps in milliseconds. None where the one that is named is none.
fn every(words: &Words) -> Option<u32> {
    match words.after(&["every", "elke"]) {
        None => Some(DEFAULT_MS),
        Some(time) => whole(time).filter(|time| *time > 0),
    }
}

/// Returns the number of a pin.
fn pin(value: f64) -> Option<String> {
    whole(value).filter(|pin| *pin <= u32::from(MAX_PIN)).map(|pin| pin.to_string())
}

/// Returns a number that is whole.
fn whole(value: f64) -> Option<u32> {
    format!("{value}").parse().ok()
}

/// Returns the name of an analog pin.
fn analog(words: &Words) -> Option<String> {
    let name = words.word_after(&["on", "pin", "op"])?;
    let number: u8 = name.strip_prefix('a')?.parse().ok()?;
    (number < 16).then(|| format!("A{number}"))
}

const BLINK: &str = "const int ledPin = {pin};\nconst unsigned long interval = {every};  // milliseconds\n\nvoid setup() {\n  pinMode(ledPin, OUTPUT);\n}\n\nvoid loop() {\n  digitalWrite(ledPin, HIGH);\n  delay(interval);\n  digitalWrite(ledPin, LOW);\n  delay(interval);\n}\n";

const FADE: &str = "const int ledPin = {pin};  // a pin with PWM\n\nvoid setup() {\n  pinMode(ledPin, OUTPUT);\n}\n\nvoid loop() {\n  for (int level = 0; level <= 255; level++) {\n    analogWrite(ledPin, level);\n    delay(5);\n  }\n  for (int level = 255; level >= 0; level--) {\n    analogWrite(ledPin, level);\n    delay(5);\n  }\n}\n";

const SENSOR: &str = "const int sensorPin = {pin};\nconst unsigned long interval = {every};  // milliseconds\n\nvoid setup() {\n  Serial.begin(9600);\n}\n\nvoid loop() {\n  Serial.println(analogRead(sensorPin));\n  delay(interval);\n}\n";

const BUTTON: &str = "const int buttonPin = {button};  // the button connects it to ground\nconst int ledPin = {led};\n\nvoid setup() {\n  pinMode(buttonPin, INPUT_PULLUP);\n  pinMode(ledPin, OUTPUT);\n}\n\nvoid loop() {\n  digitalWrite(ledPin, digitalRead(buttonPin) == LOW ? HIGH : LOW);\n}\n";

const SERVO: &str = "#include <Servo.h>\n\nconst int servoPin = {pin};\nServo servo;\n\nvoid setup() {\n  servo.attach(servoPin);\n}\n\nvoid loop() {\n  for (int angle = 0; angle <= 180; angle++) {\n    servo.write(angle);\n    delay(15);\n  }\n  for (int angle = 180; angle >= 0; angle--) {\n    servo.write(angle);\n    delay(15);\n  }\n}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_understood_and_its_pins_and_times_are_in_the_sketch() {
        for form in FORMS {
            let code = write(&Words::of(form)).unwrap_or_else(|| panic!("{form}"));
            assert!(code.contains("void setup()") && !code.contains("{pin}"), "{form}");
        }
    }

    #[test]
    fn pins_and_times_are_those_of_the_description() {
        let code = write(&Words::of("Blink LED on pin 7 every 0.25 s")).unwrap();
        assert!(code.contains("ledPin = 7;") && code.contains("interval = 250;"), "{code}");
        let code = write(&Words::of("button on pin 2 controls led on pin 13")).unwrap();
        assert!(code.contains("buttonPin = 2;") && code.contains("ledPin = 13;"), "{code}");
        let code = write(&Words::of("read sensor on a3 every 2 s")).unwrap();
        assert!(code.contains("sensorPin = A3;") && code.contains("interval = 2000;"), "{code}");
        for text in [
            "fly a drone",
            "blink led",
            "blink led on pin 99",
            "read sensor on a77",
            "blink led on pin 1.5",
        ] {
            assert_eq!(write(&Words::of(text)), None, "{text}");
        }
    }
}

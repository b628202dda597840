//! What an answer of a model used, and what it costs.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many units of an account make one of its currency.
pub const NANOS: u64 = 1_000_000_000;
/// The highest price, in the currency per million tokens.
const MAX_PRICE: f64 = 100_000.0;

/// The tokens of one answer, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The tokens of the request, those from the provider's cache included.
    pub input_tokens: u64,
    /// The tokens of the answer, those of its reasoning included.
    pub output_tokens: u64,
    /// The part of the input that came from the provider's cache.
    pub cached_tokens: u64,
    /// Whether a part is estimated from the length of the texts, because the provider reported nothing.
    pub estimated: bool,
}

impl Usage {
    /// Returns the sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            estimated: self.estimated || other.estimated,
        }
    }

    /// Returns the tokens of the request and of the answer.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// A price in billionths of the currency per token, which is thousandths of it per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price(u64);

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let price = f64::deserialize(deserializer)?;
        if !(0.0..=MAX_PRICE).contains(&price) {
            return Err(serde::de::Error::custom(format!(
                "a price is a number from 0 to {MAX_PRICE}, for a million tokens"
            )));
        }
        // A decimal text is parsed instead of a float cast, which could lose a digit.
        let thousandths = format!("{:.0}", price * 1000.0);
        thousandths.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        text.parse::<f64>().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// What the tokens of a model cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prices {
    /// The price of input.
    pub input: Price,
    /// The price of output.
    pub output: Price,
    /// The price of input from the provider's cache; that of input where it is not set.
    pub cached: Option<Price>,
}

impl Prices {
    /// Returns what that usage costs, in billionths of the currency.
    #[must_use]
    pub fn cost_nanos(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens.saturating_sub(cached);
        let of = |tokens: u64, price: Price| tokens.saturating_mul(price.0);
        of(fresh, self.input)
            .saturating_add(of(cached, self.cached.unwrap_or(self.input)))
            .saturating_add(of(usage.output_tokens, self.output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Section {
        price: Price,
    }

    #[test]
    fn a_price_is_for_a_million_tokens_and_cached_ones_have_their_own() {
        let read = |text: &str| toml::from_str::<Section>(&format!("price = {text}"));
        let price = |text: &str| read(text).unwrap().price;
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cached_tokens: 400_000,
            estimated: false,
        };
        let prices = Prices { input: price("3"), output: price("15"), cached: None };
        assert_eq!(prices.cost_nanos(&usage), 4_500_000_000);
        let prices = Prices { cached: Some(price("0.30")), ..prices };
        assert_eq!(prices.cost_nanos(&usage), 1_800_000_000 + 120_000_000 + 1_500_000_000);
        for wrong in ["-1", "1e9", "nan"] {
            assert!(read(wrong).unwrap_err().to_string().contains("from 0 to"), "{wrong}");
        }
        let written = toml::to_string(&Section { price: price("0.075") }).unwrap();
        assert_eq!(written, "price = 0.075\n");
    }
}

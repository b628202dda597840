//! The numbers of a calculation: exact integers of 128 bits, and floats for everything else.

use std::fmt;

use super::CalculationError;

/// A value: an exact integer, or a finite float.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// An exact integer.
    Integer(i128),
    /// A finite float.
    Float(f64),
}

type Value = Result<Number, CalculationError>;

/// The integers that a float holds exactly reach from minus this to this.
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// Returns a float as a value.
    ///
    /// # Errors
    /// It is not finite.
    pub(super) const fn float(value: f64) -> Value {
        if value.is_nan() {
            Err(CalculationError::NotReal)
        } else if value.is_infinite() {
            Err(CalculationError::TooLarge)
        } else {
            Ok(Self::Float(value))
        }
    }

    /// Returns whether the value is an exact integer.
    pub(super) const fn is_exact(self) -> bool {
        matches!(self, Self::Integer(_))
    }

    #[expect(clippy::cast_precision_loss, reason = "a float is what is asked for")]
    const fn as_float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    const fn is_zero(self) -> bool {
        match self {
            Self::Integer(integer) => integer == 0,
            Self::Float(float) => float == 0.0,
        }
    }

    /// Returns the exact result of two integers if it fits, and else the result of two floats.
    fn apply(
        self,
        other: Self,
        exact: impl FnOnce(i128, i128) -> Option<i128>,
        float: impl FnOnce(f64, f64) -> f64,
    ) -> Value {
        if let (Self::Integer(left), Self::Integer(right)) = (self, other)
            && let Some(result) = exact(left, right)
        {
            return Ok(Self::Integer(result));
        }
        Self::float(float(self.as_float(), other.as_float()))
    }

    pub(super) fn negate(self) -> Value {
        match self {
            Self::Integer(integer) => match integer.checked_neg() {
                Some(negative) => Ok(Self::Integer(negative)),
                None => Self::float(-self.as_float()),
            },
            Self::Float(float) => Self::float(-float),
        }
    }

    pub(super) fn add(self, other: Self) -> Value {
        self.apply(other, i128::checked_add, |left, right| left + right)
    }

    pub(super) fn subtract(self, other: Self) -> Value {
        self.apply(other, i128::checked_sub, |left, right| left - right)
    }

    pub(super) fn multiply(self, other: Self) -> Value {
        self.apply(other, i128::checked_mul, |left, right| left * right)
    }

    /// Divides. Integers that divide without a rest give an integer.
    pub(super) fn divide(self, other: Self) -> Value {
        other.not_zero()?;
        let exact = |left: i128, right: i128| {
            left.checked_rem(right).filter(|rest| *rest == 0)?;
            left.checked_div(right)
        };
        self.apply(other, exact, |left, right| left / right)
    }

    /// Divides and rounds down.
    pub(super) fn floor_divide(self, other: Self) -> Value {
        other.not_zero()?;
        self.apply(other, floor_div, |left, right| (left / right).floor())
    }

    /// Returns the rest of [`Self::floor_divide`], which has the sign of the divisor.
    pub(super) fn modulo(self, other: Self) -> Value {
        other.not_zero()?;
        let exact = |left: i128, right: i128| {
            let rest = left.checked_rem(right)?;
            if rest != 0 && (rest < 0) != (right < 0) {
                rest.checked_add(right)
            } else {
                Some(rest)
            }
        };
        self.apply(other, exact, |left, right| {
            let rest = left % right;
            if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
        })
    }

    /// Raises to a power.
    pub(super) fn power(self, exponent: Self) -> Value {
        let is_negative = exponent.as_float() < 0.0;
        if self.is_zero() && is_negative {
            return Err(CalculationError::DivisionByZero);
        }
        let exact = |base: i128, exponent: i128| match base {
            // These bases fit for every exponent.
            0 | 1 if exponent > 0 => Some(base),
            _ => base.checked_pow(u32::try_from(exponent).ok()?),
        };
        self.apply(exponent, exact, f64::powf)
    }

    const fn not_zero(self) -> Result<(), CalculationError> {
        if self.is_zero() { Err(CalculationError::DivisionByZero) } else { Ok(()) }
    }
}

/// Divides two integers and rounds down.
fn floor_div(left: i128, right: i128) -> Option<i128> {
    let (quotient, rest) = (left.checked_div(right)?, left.checked_rem(right)?);
    if rest != 0 && (rest < 0) != (right < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            // An integral float is written as an integer while its digits are exact.
            Self::Float(float) if float.fract() == 0.0 && float.abs() <= MAX_EXACT_FLOAT => {
                // Adding zero makes minus zero zero.
                write!(f, "{:.0}", float + 0.0)
            }
            Self::Float(float) => write!(f, "{float:?}"),
        }
    }
}

//! End-to-end stories: real backends, real devices and the real command line, each a process of its
//! own. What a person or a model would see is what is compared.

/** Limits of one operation. Its cost is counted in fields; a list counts with an assumed length. */

/** The deepest queries of user interfaces have about 9 levels; much deeper ones follow cycles in the schema. */
export const QUERY_DEPTH_MAX = 15
/** Fields in one operation, aliases included. */
export const QUERY_BREADTH_MAX = 500
/** Enough for 100 sessions, each with its whole chain and their kernels in some detail. */
export const QUERY_COMPLEXITY_MAX = 100_000
/** Length of lists that are not pages: chains, kernels, slots. */
export const LIST_LENGTH_ASSUMED = 10
/** Tokens of a document's text. */
export const QUERY_TOKENS_MAX = 4_000
/** Enough for a user interface that reads a few dozen sessions by id, each under its own alias. */
export const QUERY_ALIASES_MAX = 200
/** Enough for `@include` and `@skip` on many fields. */
export const QUERY_DIRECTIVES_MAX = 100
/** More than one subscription for each part of a user interface. */
export const SUBSCRIPTIONS_PER_CONNECTION_MAX = 200
/** Twice as many subscribers as one server is designed for. */
export const SUBSCRIPTIONS_PER_TOKEN_MAX = 10_000
/** 1000 sessions in one `createSessions`, with 4 KiB each for the command and the environment. */
export const REQUEST_BYTES_MAX = 8 * 1024 * 1024
/** Fields of one `orderBy`. */
export const ORDER_FIELDS_MAX = 4

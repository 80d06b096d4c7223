/** What one operation may ask for. Its cost is counted in fields, lists as if they had an assumed length. */

/** The deepest query of the UI has 9 levels; deeper ones go round in circles. */
export const QUERY_DEPTH_MAX = 15
/** Fields in one operation, aliases included. */
export const QUERY_BREADTH_MAX = 500
/** 100 sessions, each with its whole chain and their kernels in some detail. */
export const QUERY_COMPLEXITY_MAX = 100_000
/** A list that is not a page: chains, kernels, slots. */
export const LIST_LENGTH_ASSUMED = 10
/** Of the document's text. */
export const QUERY_TOKENS_MAX = 4_000
/** A page that asks for a few dozen sessions by id, each under its own name. */
export const QUERY_ALIASES_MAX = 200
/** `@include` and `@skip` here and there. */
export const QUERY_DIRECTIVES_MAX = 100
/** One subscription for each part of a page, and then some. */
export const SUBSCRIPTIONS_PER_CONNECTION_MAX = 200
/** Twice the subscribers that one server is built for. */
export const SUBSCRIPTIONS_PER_TOKEN_MAX = 10_000
/** 1000 sessions in one `createSessions`, with 4 KiB each for the command and the environment. */
export const REQUEST_BYTES_MAX = 8 * 1024 * 1024
/** Fields of one `orderBy`. */
export const ORDER_FIELDS_MAX = 4

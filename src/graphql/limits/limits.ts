/** Limits of one operation. Its cost is counted in fields; a list counts with an assumed length. */

/**
 * Size of a WebSocket message: that of any request, and before the token is known that of a request without a token.
 */
export {
  REQUEST_BYTES_MAX as MESSAGE_BYTES_MAX,
  STRANGER_BYTES_MAX as STRANGER_MESSAGE_BYTES_MAX,
} from '../../domain/limits.ts'

/** The deepest queries of user interfaces have about 9 levels; much deeper ones follow cycles in the schema. */
export const QUERY_DEPTH_MAX = 15
/** Fields in one operation, aliases included. */
export const QUERY_BREADTH_MAX = 500
/** Enough for 100 sessions, each with its whole chain and their kernels in some detail. */
export const QUERY_COMPLEXITY_MAX = 100_000
/**
 * Complexity of counting, counting with a filter, and searching at the root of an operation: a filter or a search may
 * look at every row. Chosen for a user interface that counts its tabs and searches for one thing. The first count is
 * free.
 */
export const COUNT_COST = 500
export const FILTERED_COUNT_COST = 3_000
export const SEARCH_COST = 5_000
/** Fields of the objects in all lists of an answer: twice the allowed complexity of an operation. */
export const ANSWER_FIELDS_MAX = 200_000
/**
 * Fields of an answer that are completed without a pause: about 50 ms, and more than a page of sessions with their
 * chains.
 */
export const FIELDS_PER_TURN = 50_000
/** Length of lists that are not pages: chains, kernels, slots. */
export const LIST_LENGTH_ASSUMED = 10
/** Tokens of a document's text. */
export const QUERY_TOKENS_MAX = 4_000
/** Enough for a user interface that reads a few dozen sessions by id, each under its own alias. */
export const QUERY_ALIASES_MAX = 200
/** Characters of a document. The server remembers a thousand documents, and they must fit its memory. */
export const QUERY_LENGTH_MAX = 65_536
/** Brackets within brackets: fields, arguments and values together. Deep ones would overflow the stack. */
export const QUERY_NESTING_MAX = 64
/**
 * Fields and fragments as written, in all operations of a document. Validation compares all fields that may get the
 * same name, so its time grows with their square.
 */
export const QUERY_FIELDS_MAX = 500
export const QUERY_FRAGMENTS_MAX = 150
/** One for each aliased field, and as many for other arguments. */
export const QUERY_VARIABLES_MAX = 400
/** Enough for `@include` and `@skip` on many fields. */
export const QUERY_DIRECTIVES_MAX = 100
/** Fields of one `orderBy`. */
export const ORDER_FIELDS_MAX = 4

/** Limits of one operation. The cost of an operation is counted in fields; a list counts with an assumed length. */

/**
 * Size of a WebSocket message: the limit of any request, or, before the token is known, that of a request without a
 * token.
 */
export {
  REQUEST_BYTES_MAX as MESSAGE_BYTES_MAX,
  STRANGER_BYTES_MAX as STRANGER_MESSAGE_BYTES_MAX,
} from '../../domain/limits.ts'

/**
 * Depth of a query. The deepest queries of user interfaces have about 9 levels; much deeper ones follow cycles in the
 * schema.
 */
export const QUERY_DEPTH_MAX = 15
/** Fields in one operation, aliases included. */
export const QUERY_BREADTH_MAX = 500
/** Complexity of a query: enough for 100 sessions, each with its whole chain and their kernels in some detail. */
export const QUERY_COMPLEXITY_MAX = 100_000
/**
 * Complexity of counting, of counting with a filter, and of searching at the root of an operation: a filter or a search
 * may read every row. The values allow a user interface that counts its tabs and runs one search. The first count is
 * free.
 */
export const COUNT_COST = 500
export const FILTERED_COUNT_COST = 3_000
export const SEARCH_COST = 5_000
/** Total number of fields of the objects in all lists of an answer: twice the allowed complexity of an operation. */
export const ANSWER_FIELDS_MAX = 200_000
/**
 * Fields of an answer that are completed without a pause: about 50 ms, and more than a page of sessions with their
 * chains.
 */
export const FIELDS_PER_TURN = 50_000
/** Assumed length of lists without pages: chains, kernels, slots. */
export const LIST_LENGTH_ASSUMED = 10
/** Tokens of a document's text. */
export const QUERY_TOKENS_MAX = 4_000
/** Number of aliases: enough for a user interface that reads a few dozen sessions by id, each under its own alias. */
export const QUERY_ALIASES_MAX = 200
/** Characters of a document. The server remembers a thousand documents, which must fit its memory. */
export const QUERY_LENGTH_MAX = 65_536
/** Brackets within brackets: fields, arguments and values together. Deep ones would overflow the stack. */
export const QUERY_NESTING_MAX = 64
/**
 * Number of fields and fragments as written, in all operations of a document. Validation compares all fields that may
 * get the same name, so its time grows with the square of this number.
 */
export const QUERY_FIELDS_MAX = 500
export const QUERY_FRAGMENTS_MAX = 150
/** Number of variables: one for each aliased field, and as many for other arguments. */
export const QUERY_VARIABLES_MAX = 400
/** Number of directives: enough for `@include` and `@skip` on many fields. */
export const QUERY_DIRECTIVES_MAX = 100
/** Number of fields in one `orderBy`. */
export const ORDER_FIELDS_MAX = 4

import { GraphQLError, parse, specifiedRules, validate, visit } from 'graphql'
import type { ASTNode, DocumentNode, ParseOptions } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { REQUEST_ERRORS_MAX } from '../../domain/limits.ts'
import {
  QUERY_ALIASES_MAX,
  QUERY_DIRECTIVES_MAX,
  QUERY_FIELDS_MAX,
  QUERY_FRAGMENTS_MAX,
  QUERY_LENGTH_MAX,
  QUERY_NESTING_MAX,
  QUERY_TOKENS_MAX,
  QUERY_VARIABLES_MAX,
} from './limits.ts'

/**
 * Limits the cost of parsing and validating a document: its length, nesting and tokens before and during parsing, then
 * the counts that make validation slow.
 */
export function useDocumentLimits(): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, options?: ParseOptions) => {
        const fault = faultOf(source)
        if (fault !== undefined) throw refusal(fault)
        try {
          return parse(source, { ...options, maxLexicalTokens: QUERY_TOKENS_MAX })
        } catch (error) {
          throw error instanceof GraphQLError ? syntaxError(error) : error
        }
      })
    },
    onValidate({ setValidationFn }) {
      setValidationFn(((schema, document, rules = specifiedRules) => {
        const excesses = excessesOf(document)
        return excesses.length > 0 ? excesses : validate(schema, document, rules, { maxErrors: REQUEST_ERRORS_MAX })
      }) as typeof validate)
    },
  }
}

/**
 * Sets the code of a validation error here, because the library sets it for HTTP only. The library caches the error of
 * a document for all transports.
 */
function syntaxError({ message, source, positions }: GraphQLError): GraphQLError {
  const extensions = { code: 'GRAPHQL_PARSE_FAILED', http: { spec: true, status: 400 } }
  return new GraphQLError(message, { source, positions, extensions })
}

function refusal(message: string, node?: ASTNode): GraphQLError {
  return new GraphQLError(message, { nodes: node ?? null, extensions: { code: 'VALIDATION_FAILED' } })
}

function faultOf(source: string): string | undefined {
  if (source.length > QUERY_LENGTH_MAX)
    return `The document has ${source.length} characters, and the limit is ${QUERY_LENGTH_MAX}.`
  if (nestingOf(source) > QUERY_NESTING_MAX) return `The document nests more than ${QUERY_NESTING_MAX} brackets.`
  return undefined
}

/** A text in quotes, a comment, or a bracket. */
const TEXT_OR_BRACKET = /"""(?:[^"\\]|\\"""|\\|"(?!""))*(?:"""|$)|"(?:[^"\\\n\r]|\\.)*"?|#[^\n\r]*|[([{]|[)\]}]/g

function nestingOf(source: string): number {
  let nesting = 0
  let deepest = 0
  for (const [token] of source.matchAll(TEXT_OR_BRACKET)) {
    if (token === '(' || token === '[' || token === '{') deepest = Math.max(deepest, ++nesting)
    else if (token === ')' || token === ']' || token === '}') nesting--
  }
  return deepest
}

/** Lists the limits that a document exceeds, as written: a fragment counts once, however often it is used. */
function excessesOf(document: DocumentNode): GraphQLError[] {
  const counted: Record<string, { limit: number; count: number; beyond?: ASTNode }> = {
    aliases: { limit: QUERY_ALIASES_MAX, count: 0 },
    directives: { limit: QUERY_DIRECTIVES_MAX, count: 0 },
    fields: { limit: QUERY_FIELDS_MAX, count: 0 },
    fragments: { limit: QUERY_FRAGMENTS_MAX, count: 0 },
    variables: { limit: QUERY_VARIABLES_MAX, count: 0 },
  }
  const count = (what: string) => (node: ASTNode) => {
    const entry = counted[what]!
    if (++entry.count > entry.limit) entry.beyond ??= node
  }
  const fragment = count('fragments')
  const [field, alias] = [count('fields'), count('aliases')]
  visit(document, {
    Field(node) {
      field(node)
      if (node.alias) alias(node)
    },
    Directive: count('directives'),
    FragmentSpread: fragment,
    InlineFragment: fragment,
    FragmentDefinition: fragment,
    OperationDefinition: fragment,
    VariableDefinition: count('variables'),
  })
  return Object.entries(counted).flatMap(([what, { limit, count: found, beyond }]) =>
    beyond ? [refusal(`The document has ${found} ${what}, and the limit is ${limit}.`, beyond)] : [],
  )
}

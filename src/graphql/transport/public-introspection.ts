import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  executeSync,
  getIntrospectionQuery,
  type GraphQLSchema,
  type IntrospectionOptions,
  Kind,
  parse,
  type SelectionSetNode,
  stripIgnoredCharacters,
} from 'graphql'
import { createRates } from '../../services/access/admission.ts'

/**
 * Answers introspection without a token. The query for the whole schema is answered from memory, in each form that
 * tools send; any other introspection is executed only if its answer is small.
 */

type Send = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Serves a body that is the same for all clients. */
export type StaticAnswers = (body: {
  read: () => Buffer
  headers: { 'Content-Type': string; 'Cache-Control': string; Vary: string }
}) => Send

export interface PublicIntrospection {
  /** Returns a function that sends the answer; null if this is not the query for the whole schema. */
  whole(query: unknown, operationName: unknown): Send | null
}

/** Maximum length of such a query: the longest form that tools send has 2,000 characters. */
const WHOLE_LENGTH_MAX = 8_192
/** Number of cached forms, of 64 possible ones: each takes half a megabyte. */
const FORMS_MAX = 16
/** New forms answered per second, with a burst of ten: the first answer of a form takes about 20 ms. */
const NEW_FORMS_PER_SECOND = 1

interface Form {
  text: string | null
  send: Send
}

export function createPublicIntrospection(schema: GraphQLSchema, staticAnswer: StaticAnswers): PublicIntrospection {
  const forms = new Map<string, Form>()
  const rates = createRates(NEW_FORMS_PER_SECOND)

  function formOf(options: IntrospectionOptions): Form | null {
    const key = JSON.stringify(options)
    const known = forms.get(key)
    if (!known && !rates.take('')) return null
    const form = known ?? {
      text: shortened(getIntrospectionQuery(options)),
      send: answerOf(() =>
        Buffer.from(JSON.stringify(executeSync({ schema, document: parse(getIntrospectionQuery(options)) }))),
      ),
    }
    // Evicts the form that was requested longest ago.
    forms.delete(key)
    forms.set(key, form)
    if (forms.size > FORMS_MAX) forms.delete(forms.keys().next().value!)
    return form
  }

  function answerOf(make: () => Buffer): Send {
    let made: Buffer | undefined
    const as = (type: string) =>
      staticAnswer({
        read: () => (made ??= make()),
        headers: {
          'Content-Type': `${type}; charset=utf-8`,
          'Cache-Control': 'no-cache',
          Vary: 'Accept, Accept-Encoding',
        },
      })
    const [plain, modern] = [as('application/json'), as('application/graphql-response+json')]
    return (request, response) =>
      request.headers.accept?.includes('application/graphql-response+json')
        ? modern(request, response)
        : plain(request, response)
  }

  return {
    whole(query, operationName) {
      if (typeof query !== 'string' || query.length > WHOLE_LENGTH_MAX || !query.includes('__schema')) return null
      if (
        operationName &&
        !new RegExp(
          `^\\s*query\\s+${/^\w+$/.exec(typeof operationName === 'string' ? operationName : '')?.[0]}\\b`,
        ).test(query)
      )
        return null
      const text = shortened(query)
      if (text === null) return null
      const form = formOf(optionsOf(text))
      return form?.text === text ? form.send : null
    },
  }
}

/** Reads the optional parts of introspection that a query requests. */
function optionsOf(text: string): IntrospectionOptions {
  return {
    descriptions: text.includes('description'),
    schemaDescription: text.includes('__schema{description'),
    specifiedByUrl: text.includes('specifiedByURL'),
    directiveIsRepeatable: text.includes('isRepeatable'),
    inputValueDeprecation: text.includes('args(includeDeprecated:true)'),
    oneOf: text.includes('isOneOf'),
    experimentalDirectiveDeprecation: text.includes('directives(includeDeprecated:true)'),
  }
}

function shortened(query: string): string | null {
  try {
    const text = stripIgnoredCharacters(query).replace(/^query(?: \w+)?\{/, '{')
    // Tools ask for different depths of nested types, all of them deeper than any type of this schema.
    return text.replace(/(?: ?ofType\{kind name){6,}\}+/, ' ofType{…}')
  } catch {
    return null
  }
}

/** Maximum number of fields of any other introspection answer without a token: they take less than a millisecond. */
const SMALL_ANSWER_FIELDS_MAX = 300
const SMALL_LENGTH_MAX = 1_024
const SMALL_TOKENS_MAX = 100
/** Assumed lengths of lists: about the longest of any type in this schema. */
const LENGTHS: Readonly<Record<string, number>> = {
  types: 500,
  fields: 80,
  args: 20,
  inputFields: 40,
  enumValues: 50,
  possibleTypes: 50,
  interfaces: 3,
  directives: 8,
}

/** Whether a document introspects only a small part of the schema, without fragments. */
export function isSmallIntrospection(query: unknown): boolean {
  if (typeof query !== 'string' || query.length > SMALL_LENGTH_MAX) return false
  try {
    const { definitions } = parse(query, { maxLexicalTokens: SMALL_TOKENS_MAX, noLocation: true })
    return definitions.every(
      (definition) =>
        definition.kind === Kind.OPERATION_DEFINITION &&
        definition.selectionSet.selections.every(
          (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
        ) &&
        fieldsOf(definition.selectionSet) <= SMALL_ANSWER_FIELDS_MAX,
    )
  } catch {
    return false
  }
}

function fieldsOf({ selections }: SelectionSetNode): number {
  return selections.reduce((sum, selection) => {
    if (selection.kind !== Kind.FIELD) return Infinity
    const each = selection.selectionSet ? fieldsOf(selection.selectionSet) : 0
    return sum + 1 + each * (LENGTHS[selection.name.value] ?? 1)
  }, 0)
}

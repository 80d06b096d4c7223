import { type DocumentNode, type ExecutionArgs, type ExecutionResult, Kind, visit } from 'graphql'
import type { GraphQLContext } from '../context.ts'

/**
 * Results of events that need nothing but the event, the operation and the viewer's rights. They are executed and
 * serialised once, however many subscriptions receive them. They live as long as their event.
 */
const results = new WeakMap<object, Map<string, ExecutionResult>>()
const payloads = new WeakMap<ExecutionResult, Buffer>()

export function findShared(event: unknown, key: string): ExecutionResult | undefined {
  return isObject(event) ? results.get(event)?.get(key) : undefined
}

/** The result must have been complete as soon as it was executed: then it has read nothing from the database. */
export function share(event: unknown, key: string, result: ExecutionResult): void {
  if (!isObject(event) || result.errors) return
  const known = results.get(event)
  if (known) known.set(key, result)
  else results.set(event, new Map([[key, result]]))
  payloads.set(result, payloadOf(result))
}

/** A result as JSON. */
export function payloadOf(result: ExecutionResult): Buffer {
  return payloads.get(result) ?? Buffer.from(JSON.stringify(result))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

interface Document {
  number: number
  /** Variables outside the arguments of the subscription's own field, which only choose its events. */
  variables: readonly string[]
}

/** By document, which is the same object each time its text is executed. */
const documents = new WeakMap<DocumentNode, Document>()
let numbered = 0

/** What the result of an event depends on besides the event. Equal for subscriptions that receive equal results. */
export function sharingKey({ document, operationName, variableValues, contextValue }: ExecutionArgs): string {
  const { number, variables } = documents.get(document) ?? numberDocument(document)
  const { role, projectId, userId, resourceGroups } = (contextValue as GraphQLContext).viewer
  const values = variables.map((name) => variableValues?.[name])
  return JSON.stringify([number, operationName, role, projectId, userId, resourceGroups, ...values])
}

function numberDocument(document: DocumentNode): Document {
  const variables = new Set<string>()
  const collect = { Variable: ({ name }: { name: { value: string } }) => void variables.add(name.value) }
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) visit(definition, collect)
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    for (const selection of definition.selectionSet.selections)
      visit(selection.kind === Kind.FIELD ? { ...selection, arguments: [] } : selection, collect)
  }
  const numberedDocument = { number: ++numbered, variables: [...variables] }
  documents.set(document, numberedDocument)
  return numberedDocument
}

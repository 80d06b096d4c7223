import { getNullableType, isEnumType, isInputObjectType, isListType, type GraphQLInputType } from 'graphql'

/** A value as it is written in a document, where its type lets it be written there. */
export function toLiteral(value: unknown, given: GraphQLInputType): string {
  const type = getNullableType(given)
  if (value === null || value === undefined) return 'null'
  if (isEnumType(type) && typeof value === 'string' && /^[A-Za-z_]\w*$/.test(value)) return value
  if (Array.isArray(value)) {
    const item = isListType(type) ? type.ofType : type
    return `[${value.map((each) => toLiteral(each, item)).join(' ')}]`
  }
  // Raw numbers are objects until they are written.
  const text = JSON.stringify(value)
  if (typeof value !== 'object' || !text.startsWith('{')) return text
  const fields = isInputObjectType(type) ? type.getFields() : {}
  const written = Object.entries(value).map(
    ([name, each]) => `${nameOf(name)}: ${toLiteral(each, Object.hasOwn(fields, name) ? fields[name]!.type : type)}`,
  )
  return `{${written.join(' ')}}`
}

function nameOf(text: string): string {
  return /^[A-Za-z_]\w*$/.test(text) ? text : 'odd'
}

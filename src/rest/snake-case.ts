type Snake<Text extends string> = Text extends `${infer Head}${infer Tail}`
  ? Head extends Lowercase<Head>
    ? `${Head}${Snake<Tail>}`
    : `_${Lowercase<Head>}${Snake<Tail>}`
  : Text

/** The type of a value whose keys are in snake_case, at all depths. */
export type SnakeKeys<Value> = Value extends readonly (infer Item)[]
  ? SnakeKeys<Item>[]
  : Value extends object
    ? { [Key in keyof Value as Key extends string ? Snake<Key> : never]: SnakeKeys<Value[Key]> }
    : Value

/** Converts `maxRetries` to `max_retries`. */
export function snakeCase<Text extends string>(camel: Text): Snake<Text> {
  return camel.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<Text>
}

/** Converts `max_retries` to `maxRetries`; camelCase stays as it is. */
export function camelCase(snake: string): string {
  return snake.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Renames all object keys in a value, recursively. Names of slots and labels are values and stay as they are. */
export function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [rename(name), renamed(item, rename)]))
}

import { readFile, writeFile } from 'node:fs/promises'

/** What the program asks of Prisma. It writes by its own SQL. */
const READS = /\.(findUnique|findUniqueOrThrow|findFirst|findFirstOrThrow|findMany|aggregate)$/
const SCHEMA = /(strings: JSON\.parse\()("(?:[^"\\]|\\.)*")(\),\s+graph: )"([\w-]+)"/

/**
 * Removes from the generated database client how the values of writes are told from the shape of a query. Each process
 * keeps this as objects: 9 MB for the inputs of all nested writes, and 2 MB without.
 *
 * Source of the format: `serialize` of @prisma/param-graph. Numbers are LEB128, and 0 of an optional one means none:
 * the numbers of inputs, outputs and roots; per input its edges (name, 16 bits of scalars, input?, enum?, 8 flags); per
 * output its edges (name, input?, output?); per root its name, input? and output?.
 */
export async function removeWrites(file) {
  const code = await readFile(file, 'utf8')
  const [, before, strings, between, text] = SCHEMA.exec(code) ?? []
  if (text === undefined) throw new Error(`${file} has no parameterization schema`)
  const graph = decode(text)
  if (encode(graph) !== text) throw new Error(`the parameterization schema in ${file} has another format`)
  const names = JSON.parse(JSON.parse(strings))
  const kept = encode(reachable(graph, ({ name }) => READS.test(names[name])))
  await writeFile(
    file,
    code.replace(SCHEMA, () => `${before}${strings}${between}"${kept}"`),
  )
}

function decode(text) {
  const bytes = Buffer.from(text, 'base64url')
  let at = 0
  const byte = () => bytes[at++]
  const number = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const next = byte()
      value |= (next & 127) << shift
      if (next < 128) return value
    }
  }
  const list = (length, read) => Array.from({ length }, read)
  const [inputs, outputs, roots] = list(3, number)
  return {
    inputs: list(inputs, () =>
      list(number(), () => ({
        name: number(),
        scalars: [byte(), byte()],
        input: number(),
        enumeration: number(),
        flags: byte(),
      })),
    ),
    outputs: list(outputs, () => list(number(), () => ({ name: number(), input: number(), output: number() }))),
    roots: list(roots, () => ({ name: number(), input: number(), output: number() })),
  }
}

function encode({ inputs, outputs, roots }) {
  const bytes = []
  const number = (value) => {
    let rest = value
    for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
    bytes.push(rest)
  }
  for (const { length } of [inputs, outputs, roots]) number(length)
  for (const edges of inputs) {
    number(edges.length)
    for (const { name, scalars, input, enumeration, flags } of edges) {
      number(name)
      bytes.push(...scalars)
      number(input)
      number(enumeration)
      bytes.push(flags)
    }
  }
  const named = ({ name, input, output }) => [name, input, output].forEach(number)
  for (const edges of outputs) {
    number(edges.length)
    edges.forEach(named)
  }
  roots.forEach(named)
  return Buffer.from(bytes).toString('base64url')
}

/** What the wanted roots lead to, numbered anew. */
function reachable({ inputs, outputs, roots }, isWanted) {
  const kept = { inputs: [], outputs: [], roots: [] }
  const places = { inputs: new Map(), outputs: new Map() }
  /** The new number, plus one; 0 stays none. */
  const place = (kind, all, number, copy) => {
    if (number === 0) return 0
    const known = places[kind].get(number)
    if (known !== undefined) return known
    const next = kept[kind].push(null)
    places[kind].set(number, next)
    kept[kind][next - 1] = all[number - 1].map(copy)
    return next
  }
  const input = (number) => place('inputs', inputs, number, (edge) => ({ ...edge, input: input(edge.input) }))
  const moved = (edge) => ({ ...edge, input: input(edge.input), output: output(edge.output) })
  const output = (number) => place('outputs', outputs, number, moved)
  kept.roots = roots.filter(isWanted).map(moved)
  return kept
}

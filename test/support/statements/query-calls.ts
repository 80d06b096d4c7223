import { join } from 'node:path'
import * as ast from 'typescript/unstable/ast'
import { API, TypeFlags, type Checker, type Type, type TypeReference, type UnionType } from 'typescript/unstable/sync'
import { ROOT } from '../../guard/source-files.ts'

/** The possible types of a value; a literal is exact. */
export type Kind =
  | { is: 'string' | 'number' | 'boolean'; literal?: string | number | boolean }
  | { is: 'array'; of: Kind[] }
  /** `anything` is unknown, or a type parameter; `object` any other object than an array or a Date. */
  | { is: 'null' | 'undefined' | 'bigint' | 'Date' | 'object' | 'anything' }

export interface RowKey {
  optional: boolean
  kinds: Kind[]
}

export interface QueryCall {
  /** From the project's root, with slashes, and where `query` stands in it, from 1. */
  path: string
  line: number
  column: number
  /** The expression that gives the statement. */
  statement: string
  /** All that the expression names stands at the level of modules. */
  constant: boolean
  /** The keys that callers read; null if the call names no type. */
  row: Map<string, RowKey> | null
  /** The row type has an index signature. */
  openKeys: boolean
  /** The rows are parsed by pg itself, and not as `openDatabase` does. */
  plainDriver: boolean
}

/**
 * The calls under `src` that send a statement: all by a `Queryable` or `Database`, and those by pg's own clients of a
 * constant or name the type of their rows. The others pass on what they are given.
 */
export function findQueryCalls(): QueryCall[] {
  const api = new API({ cwd: ROOT })
  try {
    const config = join(import.meta.dirname, 'tsconfig.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
    const { program, checker } = project
    const within = `${ROOT.replaceAll('\\', '/')}/src/`
    const files = program.getSourceFileNames().filter((name) => name.startsWith(within))
    return files.flatMap((name) => {
      const file = program.getSourceFile(name)!
      if (!file.text.includes('.query')) return []
      return [...callsIn(file)].flatMap((call) => readCall(checker, file, call) ?? [])
    })
  } finally {
    api.close()
  }
}

type QueryNode = ast.CallExpression & { expression: ast.PropertyAccessExpression }

function* callsIn(node: ast.Node): Generator<QueryNode> {
  if (ast.isCallExpression(node) && ast.isPropertyAccessExpression(node.expression)) {
    if (node.expression.name.text.startsWith('query')) yield node as QueryNode
  }
  const children: ast.Node[] = []
  node.forEachChild((child) => void children.push(child))
  for (const child of children) yield* callsIn(child)
}

const OURS: ReadonlySet<string> = new Set(['Queryable', 'Database'])
const PG_CLIENTS: ReadonlySet<string> = new Set(['Client', 'ClientBase', 'Pool'])

function readCall(checker: Checker, file: ast.SourceFile, call: QueryNode): QueryCall | undefined {
  const method = checker.getSymbolAtLocation(call.expression.name)
  const owner = method?.getParent()?.name ?? ''
  const ours = OURS.has(owner)
  if (!method || (!ours && !PG_CLIENTS.has(owner))) return undefined
  const declaration = method.valueDeclaration!
  // A function that opens a database only forwards statements.
  if (ours && declaration.path === file.path) return undefined
  const argument = call.arguments[ours ? placeOfText(declaration.resolve()!) : 0]
  if (!argument) return undefined
  const constant = [...namesIn(argument)].every((name) => isOfModule(checker, name))
  const [rowNode] = call.typeArguments ?? []
  if (!ours && !constant && !rowNode) return undefined
  const before = file.text.slice(0, call.expression.name.getStart(file)).split('\n')
  const type = rowNode && checker.getTypeFromTypeNode(rowNode)
  return {
    path: file.fileName.slice(ROOT.length + 1),
    line: before.length,
    column: before.at(-1)!.length + 1,
    statement: argument.getText(file),
    constant,
    row: type ? keysOf(checker, type) : null,
    openKeys: type !== undefined && checker.getIndexInfosOfType(type).length > 0,
    plainDriver: !ours,
  }
}

/** Which argument is the statement. */
function placeOfText(method: ast.Node): number {
  const place = (method as ast.MethodSignatureDeclaration).parameters.findIndex(
    ({ name }) => ast.isIdentifier(name) && name.text === 'text',
  )
  if (place === -1) throw new Error('a statement is the parameter `text` of what sends it')
  return place
}

function* namesIn(node: ast.Node): Generator<ast.Node> {
  if (ast.isIdentifier(node) || node.kind === ast.SyntaxKind.ThisKeyword) yield node
  const children: ast.Node[] = []
  node.forEachChild((child) => void children.push(child))
  for (const child of children) yield* namesIn(child)
}

function isOfModule(checker: Checker, name: ast.Node): boolean {
  if (!ast.isIdentifier(name)) return false
  let node: ast.Node | undefined = checker.getSymbolAtLocation(name)?.declarations[0]?.resolve()
  if (!node) return false
  for (; node && !ast.isSourceFile(node); node = node.parent) if (ast.isFunctionLikeDeclaration(node)) return false
  return true
}

function keysOf(checker: Checker, type: Type): Map<string, RowKey> {
  return new Map(
    checker.getPropertiesOfType(type).map((property) => {
      const kinds = kindsOf(checker, checker.getTypeOfSymbol(property)!)
      return [property.name, { optional: kinds.some(({ is }) => is === 'undefined'), kinds }]
    }),
  )
}

const BY_FLAG: readonly [number, Exclude<Kind['is'], 'array'>][] = [
  [TypeFlags.StringLike, 'string'],
  [TypeFlags.NumberLike, 'number'],
  [TypeFlags.BooleanLike, 'boolean'],
  [TypeFlags.BigIntLike, 'bigint'],
  [TypeFlags.Null, 'null'],
  [TypeFlags.Undefined, 'undefined'],
  [TypeFlags.Any | TypeFlags.Unknown | TypeFlags.TypeParameter, 'anything'],
]

function kindsOf(checker: Checker, type: Type): Kind[] {
  if (type.flags & TypeFlags.Union) return (type as UnionType).getTypes().flatMap((each) => kindsOf(checker, each))
  const is = BY_FLAG.find(([flags]) => type.flags & flags)?.[1]
  if (is !== undefined) return [type.isLiteralType() ? ({ is, literal: type.value } as Kind) : { is }]
  if (checker.isArrayLikeType(type)) {
    const of = checker.getTypeArguments(type as TypeReference).flatMap((each) => kindsOf(checker, each))
    return [{ is: 'array', of }]
  }
  return [{ is: type.getSymbol()?.name === 'Date' ? 'Date' : 'object' }]
}

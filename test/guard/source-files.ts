import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { parse, type Comment } from 'oxc-parser'

export const ROOT = join(import.meta.dirname, '../..')

/** Packages that a bench installs below its own directory, for the `exclude` of a glob. */
export const INSTALLED = ['**/node_modules']

export interface SourceFile {
  /** From the project's root, with slashes: `src/domain/limits.ts`. */
  path: string
  text: string
  comments: Comment[]
  /** Imported, re-exported and type-imported modules; null for a dynamic import of a computed name. */
  imports: (string | null)[]
}

/** Whether it is TypeScript. */
export function isSource(path: string): boolean {
  return path.endsWith('.ts') || path.endsWith('.tsx')
}

let read: Promise<readonly SourceFile[]> | undefined

/** Every TypeScript file under `src` but the generated ones, parsed. Read once: it takes more than a second of CPU. */
export function readSourceFiles(): Promise<readonly SourceFile[]> {
  read ??= parseSourceFiles()
  return read
}

async function parseSourceFiles(): Promise<SourceFile[]> {
  const found = await readdir(join(ROOT, 'src'), { recursive: true })
  const paths = found.map((path) => `src/${path.replaceAll('\\', '/')}`)
  const sources = paths.filter((path) => isSource(path) && !path.startsWith('src/generated/')).toSorted()
  return Promise.all(sources.map(readSourceFile))
}

async function readSourceFile(path: string): Promise<SourceFile> {
  const text = await readFile(join(ROOT, path), 'utf8')
  const { program, comments, errors } = await parse(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  return { path, text, comments, imports: [...importsIn(program)] }
}

const IMPORTING = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function* importsIn(node: unknown): Generator<string | null> {
  if (Array.isArray(node)) for (const item of node) yield* importsIn(item)
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return
  const { type, source } = node as { type?: string; source?: { value?: unknown } | null }
  if (type !== undefined && IMPORTING.has(type) && source) {
    yield typeof source.value === 'string' ? source.value : null
  }
  for (const child of Object.values(node)) yield* importsIn(child)
}

export interface Edge {
  from: string
  to: string
}

/** The imports of our own files, by path. */
export function edgesOf(files: readonly SourceFile[]): Edge[] {
  return files.flatMap(({ path, imports }) =>
    imports
      .filter((name) => name !== null)
      .filter((name) => name.startsWith('.'))
      .map((name) => ({ from: path, to: relative(ROOT, join(ROOT, dirname(path), name)).replaceAll('\\', '/') })),
  )
}

/** `domain`, `store`, …; for a file that stands in `src` itself, its name. */
export function partOf(path: string): string {
  return path.split('/')[1]!
}

import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { bundlePath, PROGRAM } from '../src/program/bundle.ts'
import { knownVariables } from '../src/program/config.ts'

const KEPT_MS = 24 * 3_600_000
/**
 * Packages that are not bundled: they are large, loaded only at their first use, and work the same outside the bundle.
 */
const LEFT_OUT = [/^@prisma\/schema-engine-wasm/, /query_compiler_\w+\.postgresql/]

/**
 * Bundles the program, which then starts in half the time: Node loads a few files instead of 1,500. Without a bundle of
 * exactly the present sources, the sources themselves are run.
 */
export async function bundleProgram(root: string): Promise<void> {
  const entry = bundlePath(root)
  if (existsSync(entry)) return
  console.log('bundling the program')
  const bundles = join(dirname(entry), '..')
  await mkdir(bundles, { recursive: true })
  await removeOld(bundles)
  const draft = await mkdtemp(join(bundles, 'draft-'))
  try {
    // Other users may run the program.
    await chmod(draft, 0o755)
    await writeProgram(root, { to: draft, external: LEFT_OUT, directoryOf: (id) => JSON.stringify(dirname(id)) })
    await rename(draft, dirname(entry)).catch((error: NodeJS.ErrnoException) => {
      // Another process was first, with the same result.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The bundle's place in the package. Files beside it have the same relative paths as in the repository. */
const RELEASED = 'dist/program'
/** Packages that stay outside of the bundle: this one finds its WebAssembly by its package name. */
const BESIDE_RELEASE = [/^@prisma\/schema-engine-wasm/]

/** Bundles the program for the package, which contains neither the sources nor the packages that are bundled. */
export async function releaseProgram(root: string): Promise<void> {
  const to = join(root, RELEASED)
  await rm(to, { recursive: true, force: true })
  const directoryOf = (id: string) => {
    const path = relative(to, dirname(id)).replaceAll('\\', '/')
    return `(import.meta.dirname + ${JSON.stringify(`/${path}`)})`
  }
  await writeProgram(root, { to, external: BESIDE_RELEASE, directoryOf })
}

async function writeProgram(
  root: string,
  options: {
    to: string
    external: (string | RegExp)[]
    /** Returns JavaScript for a module's directory, because files that a module finds beside itself are not moved. */
    directoryOf: (id: string) => string
  },
): Promise<void> {
  const { to, external, directoryOf } = options
  const transform = (code: string, id: string) =>
    code.includes('import.meta.dirname') ? code.replaceAll('import.meta.dirname', directoryOf(id)) : null
  await using build = await rolldown({
    input: join(root, 'src/program/reprise.ts'),
    platform: 'node',
    external,
    plugins: [{ name: 'directories', transform }],
    // GraphQL, for one, checks for duplicates of itself at each value unless it runs in production.
    transform: { define: { VARIABLE_NAMES: JSON.stringify(knownVariables()), 'process.env.NODE_ENV': '"production"' } },
    logLevel: 'silent',
  })
  const { output } = await build.write({ dir: to, entryFileNames: PROGRAM, chunkFileNames: '[name]-[hash].mjs' })
  const chunks = new Map(output.flatMap((chunk) => (chunk.type === 'chunk' ? [[chunk.fileName, chunk] as const] : [])))
  for (const { fileName, code } of chunks.values()) {
    // In a circle of imports, a chunk may be used before its first line has run.
    const imported = importedBy(fileName, (name) => chunks.get(name)?.imports ?? [])
    const lean = imported.has(fileName) ? code : withLeanImports(code)
    await writeFile(join(to, fileName), inOneByteEach(fileName, lean))
  }
}

/**
 * Removes comments, and escapes what is not ASCII. Node keeps the source of all that it has loaded in memory, and with a
 * single other character it takes two bytes for each: 15 MB of a server instead of 6.
 */
function inOneByteEach(name: string, code: string): string {
  const asItStands = { compress: false, mangle: false, module: true } as const
  const codegen = { removeWhitespace: false, asciiOnly: true, legalComments: 'none' } as const
  const result = minifySync(name, code, { ...asItStands, codegen })
  if (result.errors.length > 0) throw new Error(`${name}: ${result.errors.map(({ message }) => message).join(', ')}`)
  return result.code
}

/** The chunks that a chunk imports, directly or not. */
function importedBy(name: string, importsOf: (name: string) => readonly string[]): Set<string> {
  const found = new Set<string>()
  const open = [name]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const fresh = importsOf(next).filter((each) => !found.has(each))
    for (const each of fresh) found.add(each)
    open.push(...fresh)
  }
  return found
}

/**
 * Replaces imports of Node's modules. An `import` reads all properties of the module, and some of them load further
 * modules at their first use: of `node:process` the terminal, of `node:fs` its promises, of `node:http` Node's `fetch`.
 */
export function withLeanImports(code: string): string {
  return code.replaceAll(/^import ([^;"']+?) from "([^"]+)";?$/gm, (line, what: string, name: string) => {
    if (!isBuiltin(name)) return line
    const [, one, named, all] = /^([\w$]+)?(?:, )?(?:\{([^}]*)\})?(?:\* as ([\w$]+))?$/.exec(what) ?? []
    const names = named?.split(',').map((each) => each.trim().split(' as '))
    if ((one ?? names ?? all) === undefined || names?.some(([own]) => own === 'default')) return line
    const module = `globalThis.process.getBuiltinModule("${name}")`
    const wholes = [one, all].filter((each) => each !== undefined).map((each) => `const ${each} = ${module};`)
    const parts = names && `const { ${names.map((each) => each.join(': ')).join(', ')} } = ${module};`
    return [...wholes, ...(parts === undefined ? [] : [parts])].join(' ')
  })
}

/**
 * Removes old bundles. A running server has loaded everything that it needs of its bundle; a starting one does so
 * within moments.
 */
export async function removeOld(bundles: string): Promise<void> {
  for (const name of await readdir(bundles)) {
    // Another process may remove it first.
    const found = await stat(join(bundles, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(join(bundles, name), { recursive: true, force: true })
  }
}

/**
 * Writes a file compressed, beside its own path.
 * @param quality of brotli
 */
export async function writeCompressed(path: string, content: string | Buffer, quality: number): Promise<void> {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }
  await Promise.all([
    promisify(brotliCompress)(content, options).then((packed) => writeFile(`${path}.br`, packed)),
    promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }).then((packed) => writeFile(`${path}.gz`, packed)),
  ])
}

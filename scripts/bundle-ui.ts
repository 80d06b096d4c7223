import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { constants } from 'node:zlib'
import type { CodeSplittingGroup } from 'rolldown'
import { build, type Manifest, type Plugin } from 'vite'
import { uiBundlePath } from '../src/program/bundle.ts'
import { UI_PATHS } from '../src/ui/paths.ts'
import { removeOld, writeCompressed } from './bundle.ts'
import { bundleGraphiQL } from './bundle-graphiql.ts'
import { uiDocuments } from './ui-documents.ts'

/** The build's manifest: the files that each module is loaded with. */
const MANIFEST = 'manifest.json'
/** Shorter files fit into one packet uncompressed. */
const COMPRESSED_FROM_BYTES = 1_024
/** A module that this many pages import is loaded with the program. */
const COMMON_PAGES_MIN = 4
/** Formats that are already compressed. */
const PACKED = new Set(['.woff2', '.png'])

/**
 * Bundles the web UI: the browser's files, compressed copies of them, `paths.json` with the paths of pages and the
 * files that each loads, `documents.json` with the GraphQL documents that they send, and GraphiQL. Does nothing if a
 * bundle of exactly these sources exists. @returns its directory
 */
export async function bundleUi(root: string): Promise<string> {
  const made = uiBundlePath(root)
  if (existsSync(made)) return made
  console.log('bundling the web UI')
  const bundles = dirname(made)
  await mkdir(bundles, { recursive: true })
  await removeOld(bundles)
  const draft = await mkdtemp(join(bundles, 'draft-'))
  const { NODE_ENV: before } = process.env
  try {
    // Packages and the JSX compiler choose their mode by it; a value set for this script must not change the bundle.
    process.env['NODE_ENV'] = 'production'
    // Other users may run the program.
    await chmod(draft, 0o755)
    await build({
      root: join(root, 'src/ui'),
      configFile: false,
      envDir: false,
      publicDir: false,
      logLevel: 'warn',
      cacheDir: join(root, '.cache/vite'),
      oxc: { jsx: { runtime: 'automatic', development: false } },
      plugins: [importsWithFiles(join(root, 'src/ui/app/part-loader.ts'))],
      define: { 'process.env.NODE_ENV': '"production"' },
      build: {
        outDir: draft,
        emptyOutDir: false,
        target: 'baseline-widely-available',
        // A file that is inlined would be a `data:` URL, which the Content-Security-Policy allows for images only.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        manifest: MANIFEST,
        // Packages that also render on servers have such directives; they have no meaning here.
        rolldownOptions: {
          output: { codeSplitting: { groups: [programFile(join(root, 'src/ui'))] } },
          onLog: (level, log, print) => void (log.code === 'MODULE_LEVEL_DIRECTIVE' || print(level, log)),
        },
      },
    })
    const { program, beside } = await readManifest(join(draft, MANIFEST))
    await rm(join(draft, MANIFEST))
    await callAtOnce(draft, new Set([...program, ...Object.values(beside).flat()]))
    const [documents] = await Promise.all([uiDocuments(root), compress(join(draft, 'assets')), bundleGraphiQL(draft)])
    await writeFile(join(draft, 'paths.json'), JSON.stringify(beside))
    await writeFile(join(draft, 'documents.json'), JSON.stringify(documents))
    await rename(draft, made).catch((error: NodeJS.ErrnoException) => {
      // Another process was first, with the same result.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
    await rm(draft, { recursive: true, force: true })
  }
  return made
}

/** The function that Vite calls instead of each `import()`, with the files that the module needs. */
const PRELOAD_HELPER = { id: '\0vite/preload-helper.js', name: '__vitePreload' }

/** Replaces Vite's own function, which leaves the page without a file for ever if that fails to load once. */
function importsWithFiles(module: string): Plugin {
  return {
    name: 'reprise:imports-with-files',
    enforce: 'pre',
    load: (id) =>
      id === PRELOAD_HELPER.id
        ? `export { importWithFiles as ${PRELOAD_HELPER.name} } from ${JSON.stringify(module)}`
        : null,
  }
}

/**
 * Puts the modules that the program begins with, and those that several pages share, into one file, because a browser
 * needs longer for twenty small ones.
 */
function programFile(ui: string): CodeSplittingGroup {
  const main = join(ui, 'main.tsx')
  const pages = [...new Set(Object.values(UI_PATHS).flat())].map((name) => join(ui, 'pages', `${name}.tsx`))
  let program: Set<string> | undefined
  return {
    debugName: 'program',
    name(id, graph) {
      const closureOf = (module: string) => importedBy(module, (each) => graph.getModuleInfo(each)?.importedIds ?? [])
      program ??= new Set([
        ...closureOf(main),
        ...commonTo(COMMON_PAGES_MIN, pages.map(closureOf)).filter((each) => !each.startsWith(join(ui, 'pages'))),
      ])
      return id !== main && program.has(id) ? 'program' : null
    },
  }
}

function commonTo<T>(least: number, sets: readonly ReadonlySet<T>[]): T[] {
  const counts = new Map<T, number>()
  for (const each of sets.flatMap((set) => [...set])) counts.set(each, (counts.get(each) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= least).map(([each]) => each)
}

function importedBy(id: string, importsOf: (id: string) => readonly string[], known = new Set<string>()): Set<string> {
  if (known.has(id)) return known
  known.add(id)
  for (const each of importsOf(id)) importedBy(each, importsOf, known)
  return known
}

/** Reads the files of the program, and the additional files of each path, in the form that the loading page needs. */
async function readManifest(path: string): Promise<{ program: string[]; beside: Record<string, string[]> }> {
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest
  const filesOf = (name: string) =>
    [...importedBy(name, (each) => manifest[each]!.imports ?? [])].flatMap((each) => {
      const { file, css = [] } = manifest[each]!
      return [file, ...css].map((one) => `/${one}`)
    })
  const program = filesOf('index.html')
  const besideOf = (modules: readonly string[]) => {
    const files = new Set(modules.flatMap((name) => filesOf(`pages/${name}.tsx`)))
    return [...files].filter((file) => !program.includes(file))
  }
  const beside = Object.fromEntries(Object.entries(UI_PATHS).map(([route, modules]) => [route, besideOf(modules)]))
  return { program, beside }
}

/**
 * Marks files for eager compilation. Most of what a page begins with is called before it is drawn: a browser that
 * supports the mark compiles all of it off the main thread while it is loaded. The mark must be at the beginning of a
 * file.
 */
async function callAtOnce(directory: string, files: ReadonlySet<string>): Promise<void> {
  const scripts = [...files].filter((file) => extname(file) === '.js').map((file) => join(directory, file))
  await Promise.all(
    scripts.map(async (path) => writeFile(path, `//# allFunctionsCalledOnLoad\n${await readFile(path, 'utf8')}`)),
  )
}

async function compress(directory: string): Promise<void> {
  await Promise.all(
    (await readdir(directory)).map(async (name) => {
      const path = join(directory, name)
      if (PACKED.has(extname(name)) || (await stat(path)).size < COMPRESSED_FROM_BYTES) return
      await writeCompressed(path, await readFile(path), constants.BROTLI_MAX_QUALITY)
    }),
  )
}

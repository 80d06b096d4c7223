import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { CodeSplittingGroup } from 'rolldown'
import { build, type Manifest } from 'vite'
import { uiBundlePath } from '../src/bundle.ts'
import { UI_PATHS } from '../src/ui/paths.ts'
import { removeOld } from './bundle.ts'
import { uiDocuments } from './ui-documents.ts'

/** Of the build: which files each module is loaded with. */
const MANIFEST = 'manifest.json'
/** Shorter ones fit one packet as they are. */
const COMPRESSED_FROM_BYTES = 1_024
/** Compressed already. */
const PACKED = new Set(['.woff2', '.png'])

/**
 * Bundles the web UI: what a browser loads, compressed beside it, `paths.json` with the paths that have pages and what
 * each of them loads, and `documents.json` with the GraphQL documents that they send.
 * Nothing is done if a bundle of exactly these sources exists.
 * @returns its directory
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
    // Whatever runs this: packages are chosen and JSX is compiled by it.
    process.env['NODE_ENV'] = 'production'
    // Others may run what is not theirs.
    await chmod(draft, 0o755)
    await build({
      root: join(root, 'src/ui'),
      configFile: false,
      envDir: false,
      publicDir: false,
      logLevel: 'warn',
      cacheDir: join(root, '.cache/vite'),
      oxc: { jsx: { runtime: 'automatic', development: false } },
      define: { 'process.env.NODE_ENV': '"production"' },
      build: {
        outDir: draft,
        emptyOutDir: false,
        target: 'baseline-widely-available',
        // What is not a file of its own would be a `data:` URL, which the Content-Security-Policy has for images only.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        manifest: MANIFEST,
        // Of packages that also render on servers: there are none here.
        rolldownOptions: {
          output: { codeSplitting: { groups: [programFile(join(root, 'src/ui/main.tsx'))] } },
          onLog: (level, log, print) => void (log.code === 'MODULE_LEVEL_DIRECTIVE' || print(level, log)),
        },
      },
    })
    await compress(join(draft, 'assets'))
    await writeFile(join(draft, 'paths.json'), JSON.stringify(await loadedByPath(join(draft, MANIFEST))))
    await rm(join(draft, MANIFEST))
    await writeFile(join(draft, 'documents.json'), JSON.stringify(await uiDocuments(root)))
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

/** All that the program begins with is in one file: twenty small ones take a browser longer. */
function programFile(main: string): CodeSplittingGroup {
  let program: Set<string> | undefined
  return {
    debugName: 'program',
    name(id, graph) {
      program ??= importedBy(main, (each) => graph.getModuleInfo(each)?.importedIds ?? [])
      return id !== main && program.has(id) ? 'program' : null
    },
  }
}

function importedBy(id: string, importsOf: (id: string) => readonly string[], known = new Set<string>()): Set<string> {
  if (known.has(id)) return known
  known.add(id)
  for (const each of importsOf(id)) importedBy(each, importsOf, known)
  return known
}

/** What each path loads beside the program, as the page that loads the program is to name it. */
async function loadedByPath(manifestPath: string): Promise<Record<string, string[]>> {
  const manifest = JSON.parse(await readFile(manifestPath, 'utf8')) as Manifest
  const filesOf = (name: string) =>
    [...importedBy(name, (each) => manifest[each]!.imports ?? [])].flatMap((each) => {
      const { file, css = [] } = manifest[each]!
      return [file, ...css].map((one) => `/${one}`)
    })
  const program = new Set(filesOf('index.html'))
  return Object.fromEntries(
    Object.entries(UI_PATHS).map(([path, modules]) => {
      const files = new Set(modules.flatMap((name) => filesOf(`pages/${name}.tsx`)))
      return [path, [...files].filter((file) => !program.has(file))]
    }),
  )
}

async function compress(directory: string): Promise<void> {
  await Promise.all(
    (await readdir(directory)).map(async (name) => {
      const path = join(directory, name)
      if (PACKED.has(extname(name)) || (await stat(path)).size < COMPRESSED_FROM_BYTES) return
      const text = await readFile(path)
      const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
      await Promise.all([
        promisify(brotliCompress)(text, quality).then((packed) => writeFile(`${path}.br`, packed)),
        promisify(gzip)(text, { level: constants.Z_BEST_COMPRESSION }).then((packed) =>
          writeFile(`${path}.gz`, packed),
        ),
      ])
    }),
  )
}

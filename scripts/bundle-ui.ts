import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'vite'
import { uiBundlePath } from '../src/bundle.ts'
import { UI_PATHS } from '../src/ui/paths.ts'
import { removeOld } from './bundle.ts'

/** Shorter ones fit one packet as they are. */
const COMPRESSED_FROM_BYTES = 1_024
/** Compressed already. */
const PACKED = new Set(['.woff2', '.png'])

/**
 * Bundles the web UI: what a browser loads, compressed beside it, and `paths.json` with the paths that have pages.
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
        // Of packages that also render on servers: there are none here.
        rolldownOptions: {
          onLog: (level, log, print) => void (log.code === 'MODULE_LEVEL_DIRECTIVE' || print(level, log)),
        },
      },
    })
    await compress(join(draft, 'assets'))
    await writeFile(join(draft, 'paths.json'), JSON.stringify(UI_PATHS))
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

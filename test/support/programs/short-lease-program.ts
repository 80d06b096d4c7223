import type { serve as Serve } from '../../../src/program/serve.ts'
import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Lease } from '../../../src/domain/agent/lease.ts'
import { bundlePath } from '../../../src/program/bundle.ts'

/**
 * `short-lease-program.ts <lease as JSON>`: `reprise serve`, which bears silence less long. It loads the bundle that
 * `npm test` has made, like `reprise` itself: a start from the sources costs 1.3 s more of CPU.
 */
const { serve } = (await import(serving())) as { serve: typeof Serve }
process.exitCode = await serve(process.env, { lease: JSON.parse(process.argv[2]!) as Lease })

/** The file with `serve`. */
function serving(): string {
  const root = join(import.meta.dirname, '../../..')
  const bundle = bundlePath(root)
  if (!existsSync(bundle)) return join(root, 'src/program/serve.ts')
  const [found, ...others] = globSync('serve-*.mjs', { cwd: dirname(bundle) })
  if (found === undefined || others.length > 0) throw new Error(`${bundle}: not one file beside it has serve()`)
  return join(dirname(bundle), found)
}

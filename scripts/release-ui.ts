import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { uiReleasePath } from '../src/bundle.ts'
import { bundleUi } from './bundle-ui.ts'

/** Puts the web UI where a release carries it. */
const ROOT = join(import.meta.dirname, '..')
const released = uiReleasePath(ROOT)
await rm(released, { recursive: true, force: true })
await cp(await bundleUi(ROOT), released, { recursive: true })

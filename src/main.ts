#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Stores stripped types and compiled functions, which halves the time of a start. Affects only what is loaded after it.
enableCompileCache(join(import.meta.dirname, '../.cache/compiled'))
const { bundlePath } = await import('./program/bundle.ts')
const bundle = bundlePath(join(import.meta.dirname, '..'))
if (existsSync(bundle)) await import(bundle)
else await import('./program/reprise.ts')

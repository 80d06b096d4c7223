import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `npm ci` runs on Node 20, and brings the Node on which all else runs. What packages demand of Node is about the latter;
 * npm compares it with its own, and prints a block for each that is newer. So those demands are not in the lock file.
 * `npm install` of such a package writes its demand again.
 */
interface Lock {
  packages: Record<string, { engines?: { node?: string } }>
}

/** Of alternatives like `^20.19.0 || >=22.12.0`, one that some Node 20 meets. */
const ADMITS_NODE_20 = /(^|\|\|)\s*(\*|>=?\s*(\d|1\d|20)(\.|\s|$)|[\^~]?\s*20(\.|\s|$|-))/

/** The packages whose demand Node 20 does not meet, by their place. */
export function newerThanNode20({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([place, { engines }]) =>
    engines?.node === undefined || ADMITS_NODE_20.test(engines.node) ? [] : [place],
  )
}

if (import.meta.main) {
  const path = join(import.meta.dirname, '../package-lock.json')
  const lock = JSON.parse(readFileSync(path, 'utf8')) as Lock
  const places = newerThanNode20(lock)
  for (const place of places) delete lock.packages[place]!.engines
  if (places.length > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Removes `engines` from the lock file where Node 20 does not meet them. `npm ci` may run on Node 20, and installs the
 * Node on which everything else runs. Packages' demands are about the latter, but npm compares them with its own Node
 * and prints a warning block for each. `npm install` of such a package writes its demand again.
 */
interface Lock {
  packages: Record<string, { engines?: { node?: string } }>
}

/** Matches if one of several alternatives, such as `^20.19.0 || >=22.12.0`, is met by some Node 20. */
const ADMITS_NODE_20 = /(^|\|\|)\s*(\*|>=?\s*(\d|1\d|20)(\.|\s|$)|[\^~]?\s*20(\.|\s|$|-))/

/** Lists the packages whose demand Node 20 does not meet, by their path. */
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

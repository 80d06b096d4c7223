import { client } from './app/first-read.ts'
import { readChainsSearch } from './pages/chains/chains-search.ts'
import { beginToRead } from './pages/chains/read-chains.ts'

// The first rows are asked for before the rest of the program is run, its router included.
if (location.pathname === '/chains') beginToRead(client, readChainsSearch(searchOf(location.search)))

/** As the router has it. */
function searchOf(text: string): Record<string, unknown> {
  return Object.fromEntries([...new URLSearchParams(text)].map(([name, value]) => [name, valueOf(value)]))
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export { client }

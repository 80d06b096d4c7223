import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * The program of a deployment in tests: responds with its version, pid and port. The content of the file
 * `<directory>/<pid>`, or else `<directory>/all`, changes its behaviour: `500`, `hang`, `exit`.
 */
const [directory, version] = process.argv.slice(2)

function told() {
  for (const name of [String(process.pid), 'all']) {
    const path = `${directory}/${name}`
    if (existsSync(path)) return readFileSync(path, 'utf8').trim()
  }
  return 'well'
}

const server = createServer((request, response) => {
  const how = told()
  if (how === 'hang') return
  if (how === 'exit') process.exit(3)
  response.writeHead(how === '500' ? 500 : 200, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ version, pid: process.pid, port: Number(process.env.PORT) }))
})
server.listen(Number(process.env.PORT), '127.0.0.1')

import { connect } from 'node:net'

/**
 * Opens connections that send many requests at once, without a token, and read nothing. Writes a line once all have been
 * sent; another for each second says how many are still open. Arguments: port, connections, path of a long answer.
 */

const REQUESTS = 900

const [port, connections] = process.argv.slice(2, 4).map(Number)
const PATHS = [process.argv[4], '/v2/openapi.json']
let open = 0
let sent = 0

for (let n = 0; n < connections!; n++) {
  const request = `GET ${PATHS[n % PATHS.length]} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n`
  const socket = connect(port!, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  socket.once('connect', () => {
    open++
    socket.once('close', () => open--)
    socket.write(request.repeat(REQUESTS))
    if (++sent === connections) console.log('sent')
  })
}
setInterval(() => console.log(`open ${open}`), 1_000)

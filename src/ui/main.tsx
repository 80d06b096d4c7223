import { client } from './app/first-read.ts'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Provider } from 'urql'
import './design/base.css'
import { readChainsSearch } from './pages/chains/chains-search.ts'
import { beginToRead } from './pages/chains/read-chains.ts'
import { router } from './routes.tsx'

const { pathname, search } = router.latestLocation
if (pathname === '/chains') beginToRead(client, readChainsSearch(search))

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Provider value={client}>
      <RouterProvider router={router} />
    </Provider>
  </StrictMode>,
)

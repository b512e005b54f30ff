-- SPDX-License-Identifier: MIT
-- The sample shop of tools/demo: a few hundred rows that are the same each time. The numbers of the
-- cards fit their check digit and belong to nobody; addresses and telephones are of kinds that are
-- kept for examples. 'password' comes from tools/demo.
\set ON_ERROR_STOP on
BEGIN;

CREATE TABLE customers (
    id integer PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE,
    phone text NOT NULL,
    street text NOT NULL,
    postcode text NOT NULL,
    city text NOT NULL,
    country text NOT NULL,
    born_on date NOT NULL,
    created_at timestamptz NOT NULL
);
COMMENT ON TABLE customers IS 'People who have an account at the shop';
COMMENT ON COLUMN customers.email IS 'Where confirmations of orders are sent';
COMMENT ON COLUMN customers.phone IS 'For the carrier alone';

CREATE TABLE cards (
    id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers (id),
    brand text NOT NULL,
    number text NOT NULL,
    expires_on date NOT NULL,
    is_default boolean NOT NULL
);
COMMENT ON TABLE cards IS 'How customers pay';
COMMENT ON COLUMN cards.number IS 'The whole number, as no shop should keep it';

CREATE TABLE products (
    id integer PRIMARY KEY,
    sku text NOT NULL UNIQUE,
    name text NOT NULL,
    category text NOT NULL,
    price numeric(10, 2) NOT NULL CHECK (price > 0),
    in_stock integer NOT NULL CHECK (in_stock >= 0)
);
COMMENT ON TABLE products IS 'What the shop sells';
COMMENT ON COLUMN products.price IS 'In euros, with tax';

CREATE TABLE orders (
    id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers (id),
    card_id integer REFERENCES cards (id),
    status text NOT NULL CHECK (status IN ('paid', 'packed', 'shipped', 'returned')),
    ordered_at timestamptz NOT NULL,
    note text
);
COMMENT ON TABLE orders IS 'One basket that was paid';

CREATE TABLE order_items (
    order_id integer NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
    line integer NOT NULL,
    product_id integer NOT NULL REFERENCES products (id),
    quantity integer NOT NULL CHECK (quantity > 0),
    price numeric(10, 2) NOT NULL,
    PRIMARY KEY (order_id, line)
);
COMMENT ON COLUMN order_items.price IS 'Of one piece, on the day of the order';

CREATE INDEX cards_customer ON cards (customer_id);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX order_items_product ON order_items (product_id);

-- The digits with the one behind them that makes them fit (Luhn).
CREATE FUNCTION pg_temp.with_check_digit(digits text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT digits || (10 - sum(CASE WHEN (length(digits) - place) % 2 = 1 THEN digit
                                    WHEN digit > 4 THEN 2 * digit - 9 ELSE 2 * digit END) % 10) % 10
    FROM (SELECT place, substr(digits, place, 1)::integer AS digit
          FROM generate_series(1, length(digits)) AS place) AS each
$$;

WITH words AS (
    SELECT ARRAY['Ada', 'Bruno', 'Chiara', 'Dmitri', 'Elif', 'Farid', 'Greta', 'Hugo', 'Ines',
                 'Jonas', 'Kaja', 'Luca', 'Mina', 'Nils', 'Olga', 'Pablo', 'Rosa', 'Samir', 'Tove',
                 'Yara'] AS first,
           ARRAY['Almeida', 'Berg', 'Costa', 'Dubois', 'Eriksen', 'Fischer', 'García', 'Haas',
                 'Ivanov', 'Jansen', 'Kowalski', 'Larsen', 'Moretti', 'Nowak', 'Okafor', 'Petit',
                 'Rossi', 'Silva', 'Tanaka', 'Weber', 'Yilmaz', 'Zeman', 'Lindqvist'] AS last,
           ARRAY['Mill Lane', 'Harbour Street', 'Church Road', 'Station Square', 'Garden Row',
                 'Castle Hill', 'Market Place'] AS street,
           ARRAY['Lisbon', 'Bergen', 'Turin', 'Lyon', 'Kiel', 'Krakow', 'Ghent', 'Graz', 'Brno',
                 'Malmö'] AS city,
           ARRAY['Portugal', 'Norway', 'Italy', 'France', 'Germany', 'Poland', 'Belgium',
                 'Austria', 'Czechia', 'Sweden'] AS country
)
INSERT INTO customers
SELECT i, person.first || ' ' || person.last,
       lower(translate(person.first || '.' || person.last, 'íö', 'io')) || i || '@example.com',
       '+1 202 555 01' || lpad((i * 37 % 100)::text, 2, '0'),
       (i * 13 % 180 + 1) || ' ' || words.street[i * 5 % 7 + 1],
       lpad((i * 7919 % 90000 + 10000)::text, 5, '0'), words.city[i * 3 % 10 + 1],
       words.country[i * 3 % 10 + 1], DATE '1950-02-11' + i * 6131 % 20000,
       TIMESTAMPTZ '2024-01-08 09:12:00+00' + i * INTERVAL '3 days 5 hours 17 minutes'
FROM words, generate_series(1, 240) AS i,
     LATERAL (SELECT words.first[i * 7 % 20 + 1] AS first, words.last[i * 11 % 23 + 1] AS last)
         AS person;

INSERT INTO cards
SELECT i, (i - 1) % 240 + 1,
       (ARRAY['Visa', 'Mastercard', 'American Express'])[i % 3 + 1],
       pg_temp.with_check_digit(CASE i % 3 WHEN 0 THEN '424242' || lpad(digits, 9, '0')
                                           WHEN 1 THEN '555555' || lpad(digits, 9, '0')
                                           ELSE '378282' || lpad(right(digits, 8), 8, '0') END),
       (DATE '2027-01-31' + (i * 5 % 48) * INTERVAL '1 month')::date, i <= 240
FROM generate_series(1, 300) AS i,
     LATERAL (SELECT (i::bigint * 104729017 % 999999937)::text AS digits) AS made;

WITH words AS (
    SELECT ARRAY['Lamp', 'Chair', 'Kettle', 'Notebook', 'Backpack', 'Blanket', 'Clock', 'Mug']
               AS thing,
           ARRAY['Oak', 'Copper', 'Linen', 'Slate', 'Amber'] AS kind,
           ARRAY['Lighting', 'Furniture', 'Kitchen', 'Paper', 'Travel', 'Textiles', 'Decoration',
                 'Kitchen'] AS category
)
INSERT INTO products
SELECT i, upper(left(words.kind[(i - 1) / 8 + 1], 2)) || '-' || 1000 + i * 17,
       words.kind[(i - 1) / 8 + 1] || ' ' || words.thing[(i - 1) % 8 + 1],
       words.category[(i - 1) % 8 + 1], (i * 613 % 18000 + 490) / 100.0, i * 29 % 140
FROM words, generate_series(1, 40) AS i;

INSERT INTO orders
SELECT i, customer, customer,
       CASE WHEN i % 37 = 0 THEN 'returned' WHEN i > 690 THEN 'paid' WHEN i > 670 THEN 'packed'
            ELSE 'shipped' END,
       TIMESTAMPTZ '2025-01-02 07:31:00+00' + i * INTERVAL '13 hours 41 minutes',
       CASE WHEN i % 29 = 0 THEN 'Leave it with the neighbours, please' END
FROM generate_series(1, 700) AS i, LATERAL (SELECT i * i % 239 + 1 AS customer) AS buyer;

INSERT INTO order_items
SELECT o.id, line, p.id, (o.id + line) % 3 + 1, p.price
FROM orders AS o, LATERAL generate_series(1, o.id % 4 + 1) AS line
JOIN LATERAL (SELECT * FROM products WHERE id = (o.id * 7 + line * 11) % 40 + 1) AS p ON true;

CREATE VIEW order_totals AS
SELECT o.id, o.customer_id, o.status, o.ordered_at, sum(i.quantity * i.price) AS total
FROM orders AS o JOIN order_items AS i ON i.order_id = o.id
GROUP BY o.id;
COMMENT ON VIEW order_totals IS 'Orders with what they come to';

CREATE VIEW best_customers AS
SELECT c.id, c.name, c.email, c.country, count(*) AS orders, sum(t.total) AS spent
FROM customers AS c JOIN order_totals AS t ON t.customer_id = c.id
WHERE t.status <> 'returned'
GROUP BY c.id
ORDER BY spent DESC, c.id;
COMMENT ON VIEW best_customers IS 'Who has spent most';

CREATE ROLE shop LOGIN PASSWORD :'password';
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO shop;

COMMIT;
ANALYZE;

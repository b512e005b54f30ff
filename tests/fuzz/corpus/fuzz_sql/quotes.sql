select 'a''b', e'\'', $$;$$, $a$ $$ $a$, u&"\0061" uescape '!', b'1', /* /* */ */ "x""y" -- z
 'b'
'c'